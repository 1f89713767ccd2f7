package jnvdocker.kubernetes;

import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.Refusals;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Gives the GPUs of one resource to pods. Whatever a kubelet waits for comes from memory; the lease
 * itself is taken by {@link #start}, which may wait.
 */
final class PodDevicePlugin implements DevicePlugin {
    private static final Logger LOG = LoggerFactory.getLogger(PodDevicePlugin.class);

    /** The time limit of a reservation; without one, the pod gets its lease when it starts. */
    private static final Duration MOMENT = Duration.ofMillis(50);

    /** The time limit for the kubelet's report which pod it starts. */
    private static final Duration QUERY_LIMIT = Duration.ofSeconds(2);

    /** A kubelet lists a pod a little before it starts it. */
    private static final int QUERIES = 5;

    private static final Duration BETWEEN_QUERIES = Duration.ofMillis(200);

    private static final Pattern NUMBERED = Pattern.compile("nvidia[0-9]+|nvidia-cap[0-9]+");

    private final String resource;
    private final GpuWatch watch;
    private final DeviceList list;
    private final KubeletView kubelet;
    private final PodGrants grants;
    private final PodEdits edits;
    private final NewRefusals refusals;
    private final Runnable starts;
    private final BriefTasks reservations = new BriefTasks("pods-reserve");
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

    /**
     * @param refusals receives each refusal, and passes on the new ones
     * @param starts run for each pod that is about to start, since the end of another may let it in
     */
    PodDevicePlugin(
            String resource,
            GpuWatch watch,
            DeviceList list,
            KubeletView kubelet,
            PodGrants grants,
            PodEdits edits,
            NewRefusals refusals,
            Runnable starts) {
        this.resource = resource;
        this.watch = watch;
        this.list = list;
        this.kubelet = kubelet;
        this.grants = grants;
        this.edits = edits;
        this.refusals = refusals;
        this.starts = starts;
        watch.addListener(_ -> listeners.forEach(Runnable::run));
    }

    @Override
    public List<Device> devices() {
        return watch.known().map(list::of).orElseGet(list::unseen);
    }

    @Override
    public Set<String> uuids() {
        Set<String> uuids = devices().stream().map(Device::id).collect(Collectors.toSet());
        watch.known()
                .ifPresent(board ->
                        gpus(board).values().stream()
                                .filter(gpu -> uuids.contains(gpu.uuid()))
                                .map(Gpu::wholeUuid)
                                .toList()
                                .forEach(uuids::add));
        return uuids;
    }

    @Override
    public Watch watch(Runnable listener) {
        listeners.add(listener);
        return () -> listeners.remove(listener);
    }

    @Override
    public List<String> preferred(List<String> available, List<String> included, int size) {
        Set<String> ids = new LinkedHashSet<>(included);
        watch.known()
                .ifPresent(board -> {
                    Map<String, Gpu> gpus = gpus(board);
                    board
                            .choice()
                            .preferred(known(available, gpus), known(included, gpus), size)
                            .stream()
                            .map(Gpu::uuid)
                            .forEach(ids::add);
                });
        ids.addAll(available);
        return ids.stream().limit(Math.max(size, 0)).toList();
    }

    private static List<Gpu> known(List<String> ids, Map<String, Gpu> gpus) {
        return ids.stream().distinct().filter(gpus::containsKey).map(gpus::get).toList();
    }

    /** The GPUs that the driver shows, by their ids. */
    static Map<String, Gpu> gpus(Leases.Board board) {
        return board.gpus().stream()
                .filter(status -> status.state() != GpuStatus.State.MISSING)
                .map(GpuStatus::gpu)
                .filter(Gpu::hasUuid)
                .collect(Collectors.toMap(Gpu::uuid, gpu -> gpu, (one, _) -> one));
    }

    @Override
    public DeviceEdits allocate(List<String> ids) throws RefusedException {
        Set<String> all = Set.copyOf(ids);
        try {
            Leases.Board board = board();
            List<Gpu> gpus = gpus(all, board);
            refuseTaken(gpus, board.choice());
            DeviceEdits its = edits.of(gpus);
            reserve(gpus);
            refusals.over(all);
            return its;
        } catch (RefusedException e) {
            refusals.refused(all, e);
            throw e;
        }
    }

    private Leases.Board board() throws RefusedException {
        return board(watch);
    }

    /** The last scan, without which nothing can be given. */
    static Leases.Board board(GpuWatch watch) throws RefusedException {
        Optional<Leases.Board> board = watch.known();
        if (board.isEmpty()) {
            throw new RefusedException(
                    "jnvdockerd has just started and does not know the GPUs yet", "try again");
        }
        return board.get();
    }

    private static List<Gpu> gpus(Set<String> ids, Leases.Board board) throws RefusedException {
        Map<String, Gpu> known = gpus(board);
        List<Gpu> gpus = new ArrayList<>();
        for (String id : ids) {
            Gpu gpu = known.get(id);
            if (gpu == null) {
                throw new RefusedException(
                        "the driver does not show GPU " + Quote.shown(id),
                        "see 'jnvdocker gpu doctor' on this node");
            }
            gpus.add(gpu);
        }
        gpus.sort(Gpu.ORDER);
        return gpus;
    }

    private void refuseTaken(List<Gpu> gpus, GpuChoice choice) throws RefusedException {
        for (Gpu gpu : gpus) {
            if (!list.gives(gpu)
                    && choice.verdict(gpu).holder().filter(PodKind::isOfPod).isEmpty()) {
                throw new RefusedException(
                        "%s is not for pods of %s (kubernetes.gpus in the configuration)"
                                .formatted(LeaseText.name(gpu.number(), gpu.uuid()), resource),
                        Addressee.POD_AT_ADMISSION.advice());
            }
        }
        Outcome outcome =
                choice.chosenBy(gpus, lease -> lease.isReservation() || PodKind.isOfPod(lease));
        if (outcome instanceof Outcome.Unmet unmet) {
            throw new RefusedException(Refusals.of(unmet, Addressee.POD_AT_ADMISSION));
        }
    }

    /** A pod that has no reservation is next in line, as it is behind one that still lives. */
    private void reserve(List<Gpu> gpus) throws RefusedException {
        try {
            boolean done =
                    reservations.perform(
                            () -> {
                                grants.reserve(gpus, kubelet.process());
                                return true;
                            },
                            MOMENT);
            if (!done) {
                LOG.info("a pod gets its lease when it starts: the registry takes long to answer");
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RefusedException refused) {
                throw refused;
            }
            LOG.warn("a pod gets its lease when it starts: {}", e.getCause().getMessage());
        }
    }

    @Override
    public void start(List<String> ids, Duration patience) throws RefusedException {
        long until = System.nanoTime() + patience.toNanos();
        Set<String> all = Set.copyOf(ids);
        try {
            List<Gpu> gpus = gpus(all, board());
            starts.run();
            DeviceHolders.Found found = find(all);
            refuseOtherNodes(gpus, found.entries());
            grants.take(
                    new PodStart(
                            gpus,
                            found.pod().orElse(Origin.Pod.UNKNOWN),
                            found.container(),
                            kubelet.process()),
                    Duration.ofNanos(Math.max(0, until - System.nanoTime())));
            refusals.over(all);
        } catch (RefusedException e) {
            refusals.refused(all, e);
            throw e;
        } catch (IOException e) {
            throw new RefusedException(
                    FileErrors.refusal(e).precededBy("the pod's lease cannot be taken: "));
        }
    }

    private DeviceHolders.Found find(Set<String> ids) {
        DeviceHolders.Found found = kubelet.queryOrRead(QUERY_LIMIT).find(resource, ids);
        for (int i = 1; i < QUERIES && found.isUnclear(); i++) {
            try {
                Thread.sleep(BETWEEN_QUERIES);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return found;
            }
            found = kubelet.queryOrRead(QUERY_LIMIT).find(resource, ids);
        }
        return found;
    }

    /** A kubelet reuses its first allocation at each start of a container, even after a reboot. */
    private void refuseOtherNodes(List<Gpu> gpus, List<Checkpoint.Entry> entries)
            throws RefusedException {
        Set<String> right =
                numbered(edits.of(gpus).nodes().stream().map(DeviceEdits.Node::hostPath).toList());
        for (Checkpoint.Entry entry : entries) {
            Set<String> given = numbered(entry.nodes());
            if (!given.isEmpty() && !given.equals(right)) {
                throw new RefusedException(
                        "the pod would get "
                                + Quote.shown(String.join(", ", given))
                                + ", but its GPUs are "
                                + String.join(", ", right)
                                + " since the driver was loaded again",
                        "delete the pod; a new one gets the right nodes");
            }
        }
    }

    /** The names of nodes of GPUs and instances. */
    private static Set<String> numbered(List<String> paths) {
        return paths.stream()
                .map(path -> path.substring(path.lastIndexOf('/') + 1))
                .filter(name -> NUMBERED.matcher(name).matches())
                .collect(Collectors.toCollection(TreeSet::new));
    }
}
