package jnvdocker.kubernetes;

import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Share;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.FileErrors;
import jnvdocker.request.MemorySize;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Gives GPUs to pods by their resource claims: a scheduler has chosen the GPUs by {@link #offers},
 * and the kubelet has a claim prepared before anything of the pod starts. The pod's lease begins
 * then. It ends when the kubelet has given the claim back and nothing of the pod runs.
 */
public final class PodClaims {
    /** A device's name is a label of DNS; the UUIDs of early MIG instances have slashes. */
    private static final String NAME = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";

    private final GpuWatch watch;
    private final Supplier<KubernetesPolicy> policy;
    private final NumaNodes numaNodes;
    private final KubeletView kubelet;
    private final PodLeases leases;
    private final PodEdits edits;
    private final NewRefusals refusals;
    private volatile Map<String, Set<String>> allocated = Map.of();

    /**
     * @param refusals receives each refusal, and passes on the new ones
     */
    PodClaims(
            GpuWatch watch,
            Supplier<KubernetesPolicy> policy,
            NumaNodes numaNodes,
            KubeletView kubelet,
            PodLeases leases,
            PodEdits edits,
            NewRefusals refusals) {
        this.watch = watch;
        this.policy = policy;
        this.numaNodes = numaNodes;
        this.kubelet = kubelet;
        this.leases = leases;
        this.edits = edits;
        this.refusals = refusals;
    }

    /**
     * A GPU that claims may be given.
     *
     * @param name of the device: the UUID in lower case
     * @param numaNode that it is attached to; empty when the host does not report it
     * @param obstacle why no new claim can have it whole now, in a word; empty when one can, and
     *     when claims that the cluster has have it: the scheduler knows that by itself
     * @param shares what claims may have of its memory; empty when it is not shared
     */
    public record Offer(
            String name,
            Gpu gpu,
            OptionalInt numaNode,
            Optional<String> obstacle,
            Optional<Shares> shares) {}

    /**
     * The shares of a GPU.
     *
     * @param limit how many bytes all shares may have together
     * @param left how many of them those of claims may have: all that others do not have
     * @param obstacle why no claim can have any now, in a word; empty when one can
     */
    public record Shares(long limit, long left, Optional<String> obstacle) {}

    /**
     * A resource claim that is allocated.
     *
     * @param uid of the claim
     * @param pod that it is reserved for
     * @param devices by their names, how much memory of each it has; empty for whole GPUs
     */
    public record Allocated(String uid, Origin.Pod pod, Map<String, Optional<MemorySize>> devices) {
        public Allocated {
            devices = Map.copyOf(devices);
        }
    }

    /**
     * The claims with a lease, by their uids; empty for one that the kubelet does not know: it
     * writes down each claim before it has the claim prepared.
     *
     * @throws IOException when the kubelet's file cannot be read
     */
    public Map<String, Optional<PreparedClaim>> prepared() throws IOException {
        Set<String> leased =
                watch.known().stream()
                        .flatMap(board ->
                                board.gpus().stream()
                                        .map(GpuStatus::gpu)
                                        .map(board.choice()::holders))
                        .flatMap(List::stream)
                        .flatMap(lease -> PodKind.claim(lease).stream())
                        .collect(Collectors.toSet());
        // Read later than the leases, so that it has all of their claims.
        Map<String, PreparedClaim> claims = kubelet.claims();
        return leased.stream()
                .collect(Collectors.toMap(uid -> uid, uid -> Optional.ofNullable(claims.get(uid))));
    }

    /**
     * Learns what the cluster has allocated to claims with a lease. A claim that was deleted while
     * its pod still runs is free to the scheduler, which would send the next pod there.
     *
     * @param devices the names of the devices of each claim, by its uid: none of a claim that is
     *     gone. A claim that is not named has what its lease has
     */
    public void learn(Map<String, Set<String>> devices) {
        allocated = Map.copyOf(devices);
    }

    /** Whether the scheduler knows that a lease has a GPU. */
    private boolean isKnown(Lease lease, Gpu gpu) {
        return PodKind.claim(lease)
                .filter(claim -> {
                    Set<String> devices = allocated.get(claim);
                    return devices == null || devices.contains(name(gpu));
                })
                .isPresent();
    }

    /** Runs a listener, which must not wait, whenever {@link #offers} may have changed. */
    public void addListener(Runnable listener) {
        watch.addListener(_ -> listener.run());
    }

    /** The GPUs in order of index, by the last scan; empty before the first is done. */
    public Optional<List<Offer>> offers() {
        return watch.known().map(this::offers);
    }

    /**
     * The health of a device that a claim may have.
     *
     * @param trouble why programs cannot use it; empty when they can
     */
    public record Health(String name, Optional<String> trouble) {}

    /** The health of all GPUs by the last scan, with those that are held and have gone. */
    public List<Health> health() {
        return watch.known().map(Leases.Board::gpus).orElse(List.of()).stream()
                .filter(status -> status.gpu().hasUuid())
                .map(status -> new Health(name(status.gpu()), trouble(status)))
                .filter(device -> device.name().matches(NAME))
                .toList();
    }

    private static Optional<String> trouble(GpuStatus status) {
        return status.state() == GpuStatus.State.MISSING
                ? Optional.of(status.note())
                : status.gpu().trouble().map(Refusal::what);
    }

    private List<Offer> offers(Leases.Board board) {
        return board.gpus().stream()
                .filter(status -> status.state() != GpuStatus.State.MISSING)
                .filter(status -> status.gpu().hasUuid() && policy.get().gives(status.gpu()))
                .sorted((one, other) -> Gpu.ORDER.compare(one.gpu(), other.gpu()))
                .map(status -> offer(board.choice().verdict(status.gpu()), board.choice()))
                .filter(offer -> offer.name().matches(NAME))
                .toList();
    }

    private Offer offer(Verdict verdict, GpuChoice choice) {
        Gpu gpu = verdict.gpu();
        List<Lease> holders = choice.holders(gpu);
        boolean isClaimed =
                !holders.isEmpty() && holders.stream().allMatch(lease -> isKnown(lease, gpu));
        Optional<String> obstacle = isClaimed ? Optional.empty() : DeviceList.obstacle(verdict);
        return new Offer(
                name(gpu), gpu, numaNodes.of(gpu), obstacle, shares(verdict, choice, obstacle));
    }

    private Optional<Shares> shares(Verdict verdict, GpuChoice choice, Optional<String> obstacle) {
        Gpu gpu = verdict.gpu();
        long limit = choice.shareLimit(gpu);
        if (limit == 0) {
            return Optional.empty();
        }
        List<Share> others =
                choice.holders(gpu).stream()
                        .filter(lease -> !isKnown(lease, gpu))
                        .flatMap(lease -> lease.share(gpu.uuid()).stream())
                        .toList();
        return Optional.of(
                new Shares(
                        limit,
                        Math.max(0, limit - Share.sum(others)),
                        verdict.isShared() ? DeviceList.obstacleBeside(verdict) : obstacle));
    }

    private static String name(Gpu gpu) {
        return gpu.uuid().toLowerCase(Locale.ROOT);
    }

    /**
     * Takes the lease of a claim's GPUs for its pod, all of them or none. May be repeated, which
     * changes nothing.
     *
     * @param patience how long it waits for the ends of others
     * @return the CDI device of each of the claim's devices, by its name
     * @throws RefusedException when they cannot be given; names their holders, if any. The kubelet
     *     tries again
     */
    public Map<String, String> prepare(Allocated claim, Duration patience) throws RefusedException {
        Set<String> names = claim.devices().keySet();
        try {
            List<Gpu> gpus = gpus(names, claim);
            Map<String, String> devices = cdi(gpus);
            leases.hold(claim.uid());
            leases.take(
                    PodStart.byClaim(
                            gpus, shares(gpus, claim), claim.pod(), claim.uid(), kubelet.process()),
                    patience);
            refusals.over(names);
            return devices;
        } catch (RefusedException e) {
            refusals.refused(names, e);
            throw e;
        } catch (IOException e) {
            throw failed("the pod's lease cannot be taken: ", e);
        }
    }

    private static Map<String, MemorySize> shares(List<Gpu> gpus, Allocated claim) {
        Map<String, MemorySize> shares = new HashMap<>();
        gpus.forEach(
                gpu -> claim.devices().get(name(gpu)).ifPresent(it -> shares.put(gpu.uuid(), it)));
        return shares;
    }

    private List<Gpu> gpus(Set<String> names, Allocated claim)
            throws RefusedException, IOException {
        Leases.Board board = PodDevicePlugin.board(watch);
        Map<String, Gpu> known =
                PodDevicePlugin.gpus(board).values().stream()
                        .collect(Collectors.toMap(PodClaims::name, gpu -> gpu, (one, _) -> one));
        List<Gpu> gpus = new ArrayList<>();
        for (String name : names) {
            Gpu gpu = known.get(name);
            if (gpu == null) {
                throw new RefusedException(
                        "the driver does not show GPU " + Quote.shown(name),
                        "see 'jnvdocker gpu doctor' on this node");
            }
            if (!policy.get().gives(gpu) && !isHeldBy(claim, gpu)) {
                throw new RefusedException(
                        LeaseText.name(gpu.number(), gpu.uuid())
                                + " is not for pods (kubernetes.gpus in the configuration)",
                        Addressee.POD_AT_ADMISSION.advice());
            }
            gpus.add(gpu);
        }
        gpus.sort(Gpu.ORDER);
        return gpus;
    }

    private boolean isHeldBy(Allocated claim, Gpu gpu) throws IOException {
        return leases.of(claim.pod().uid()).stream()
                .filter(lease -> PodKind.claim(lease).filter(claim.uid()::equals).isPresent())
                .anyMatch(lease -> lease.isOf(gpu.uuid()));
    }

    private Map<String, String> cdi(List<Gpu> gpus) throws RefusedException {
        Map<String, String> devices =
                gpus.stream().collect(Collectors.toMap(PodClaims::name, _ -> ""));
        for (Gpu gpu : gpus) {
            List<String> names = edits.of(List.of(gpu)).cdi();
            if (names.size() != 1) {
                throw new RefusedException(
                        LeaseText.name(gpu.number(), gpu.uuid()) + " has no CDI device for pods",
                        "see 'jnvdocker gpu doctor' on this node");
            }
            devices.put(name(gpu), names.getFirst());
        }
        return devices;
    }

    /**
     * Ends the lease of a claim that the kubelet gives back, as soon as nothing of the pod runs.
     * May be repeated, also for a claim that has none.
     *
     * @param uid of the claim
     * @param patience how long it waits for the pod's end
     * @throws RefusedException when something of the pod still runs. The kubelet tries again
     */
    public void unprepare(String uid, Duration patience) throws RefusedException {
        try {
            Set<String> users = PreparedClaim.pods(kubelet.claims()).getOrDefault(uid, Set.of());
            leases.giveBack(uid, users, patience);
        } catch (IOException e) {
            throw failed("the pod's lease cannot be ended: ", e);
        }
    }

    private static RefusedException failed(String what, IOException e) {
        Refusal why = FileErrors.refusal(e).precededBy(what);
        return new RefusedException(why);
    }
}
