package jnvdocker.kubernetes;

import jnvdocker.holder.HolderKind;
import jnvdocker.holder.HostView;
import jnvdocker.holder.Life;
import jnvdocker.host.DeviceMajors;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.AllowedDevices;
import jnvdocker.process.Processes;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Whether pods have ended: by the processes in their cgroups, which only root can have made, and by
 * what their kubelet has reported. The directory of a pod is {@code pod<uid>} by the kubelet's
 * cgroupfs driver, and {@code kubepods-burstable-pod<uid>.slice}, with underscores, by that for
 * systemd.
 */
public final class PodKind implements HolderKind {
    private static final Pattern GROUP =
            Pattern.compile("(?:[a-z0-9-]{0,64}-)?pod([0-9a-f][0-9a-f_-]{7,63})(?:[.]slice)?");

    /** No name of a container has a colon. */
    private static final String CLAIM = "claim:";

    private static final Refusal NO_CGROUP =
            new Refusal(
                    "the kubelet has made no cgroup for the pod, so that the end of the pod could"
                            + " not be seen",
                    "set cgroupsPerQOS to true in the kubelet's configuration, and restart the"
                            + " kubelet");

    private final Processes processes;
    private final PodSights sights = new PodSights();
    private volatile Optional<Refusal> fault = Optional.empty();

    public PodKind(Processes processes) {
        this.processes = processes;
    }

    /** The kubelet's reports. */
    PodSights sights() {
        return sights;
    }

    /** The cgroups of pods that have processes, by the uids of the pods. */
    Map<String, Processes.Group> groups() {
        Map<String, Processes.Group> groups = new HashMap<>();
        processes.groups(GROUP).forEach((uid, group) -> groups.put(uid.replace('_', '-'), group));
        return groups;
    }

    /** The uid of the pod that a cgroup directory belongs to; empty if it belongs to none. */
    private static Optional<String> uid(Path directory) {
        return Optional.ofNullable(directory.getFileName())
                .map(name -> GROUP.matcher(name.toString()))
                .filter(Matcher::matches)
                .map(matcher -> matcher.group(1).replace('_', '-'));
    }

    /**
     * Refuses a pod that is to start, and for which its kubelet has made no cgroup. It makes one
     * before the first container starts, unless it was configured to make none. The pod's processes
     * could then not be distinguished from others, and its lease would end while they run.
     *
     * @param group its cgroup, if that has processes already
     */
    void refuseUnseen(Origin.Pod pod, Optional<Processes.Group> group) throws RefusedException {
        if (pod.uid().isEmpty()) {
            return;
        }
        boolean seen = group.isPresent() || hasCgroup(pod.uid());
        fault = seen ? Optional.empty() : Optional.of(NO_CGROUP);
        if (!seen) {
            throw new RefusedException(NO_CGROUP);
        }
    }

    /** Why the last pod was refused by {@link #refuseUnseen}; empty if it was not. */
    Optional<Refusal> fault() {
        return fault;
    }

    private boolean hasCgroup(String uid) {
        return processes.groupNames(GROUP).stream()
                .map(name -> name.replace('_', '-'))
                .anyMatch(uid::equals);
    }

    /** Empty when nothing of the pod runs. */
    Optional<Processes.Group> group(String uid) {
        return uid.isEmpty() ? Optional.empty() : Optional.ofNullable(groups().get(uid));
    }

    /**
     * A pod of Kubernetes, whichever of its containers run.
     *
     * @param kubelet that has started it
     * @param cgroup the directory of its cgroup, once it is known
     * @param containers the names of those that have had the GPU, in order of their first start
     */
    static Holder holder(ProcessId kubelet, Optional<String> cgroup, List<String> containers) {
        return Holder.of(kubelet, Optional.empty(), cgroup).with(containers);
    }

    /** The pod that a lease is of; empty if it is of none. */
    public static Optional<Origin.Pod> pod(Lease lease) {
        return lease.claim().origin().pod();
    }

    /** What a holder has among its details when its pod has the GPU by a resource claim. */
    static String byClaim(String uid) {
        return CLAIM + uid;
    }

    /** The uid of the resource claim by which a pod has its lease; empty if it has none. */
    static Optional<String> claim(Lease lease) {
        return lease.holder().details().stream()
                .filter(it -> it.startsWith(CLAIM))
                .map(it -> it.substring(CLAIM.length()))
                .findFirst();
    }

    /** Whether a lease is a pod's, or is reserved for one. */
    static boolean isOfPod(Lease lease) {
        return pod(lease).isPresent();
    }

    /**
     * With cgroups of version 1 the devices cgroups of pods show which GPUs they may use, even if
     * their kubelet has forgotten the pods. The kubelet reports the others, and the names.
     */
    @Override
    public List<Stray> strays(List<Gpu> gpus) {
        List<Stray> strays = new ArrayList<>();
        for (AllowedDevices allowed : processes.allowed(DeviceMajors.NVIDIA)) {
            Path directory = Path.of(allowed.directory());
            while (directory != null && uid(directory).isEmpty()) {
                directory = directory.getParent();
            }
            if (directory != null) {
                Origin.Pod pod = new Origin.Pod(uid(directory).get(), "", "");
                Holder holder =
                        holder(allowed.process(), Optional.of(directory.toString()), List.of());
                gpus.stream()
                        .filter(gpu -> allowed.minors().contains(gpu.minor()))
                        .map(gpu -> new Stray(pod, Optional.empty(), List.of(gpu), holder))
                        .forEach(strays::add);
            }
        }
        return strays;
    }

    @Override
    public Origin.Kind kind() {
        return Origin.Kind.POD;
    }

    @Override
    public boolean owns(GpuUse.User process, Lease lease) {
        return lease.holder()
                .cgroup()
                .filter(directory -> isIn(process.id(), directory))
                .isPresent();
    }

    /** Whether a process is in the cgroup of a pod, or below it. */
    boolean isIn(ProcessId process, String directory) {
        return processes
                .cgroup(process, Path.of(directory).getFileName().toString())
                .filter(directory::equals)
                .isPresent();
    }

    /**
     * What a kubelet has reserved may become a pod's long after: its image is pulled first, or an
     * init container runs, which the kubelet does not list.
     */
    @Override
    public Life reserved(Lease lease, HostView view) {
        return switch (sights.given(lease)) {
            case YES, UNKNOWN -> new Life.Running(lease.holder().process());
            case NO -> {
                Set<String> running = groups().keySet();
                boolean runs =
                        sights.remembered(lease).stream()
                                .map(Origin.Pod::uid)
                                .anyMatch(running::contains);
                yield runs
                        ? new Life.Running(lease.holder().process())
                        : new Life.Gone("the kubelet has given it to no pod");
            }
        };
    }

    /** Whether a lease is of a pod of which neither the uid nor a cgroup is known. */
    private static boolean isUnknown(Lease lease) {
        return !lease.isReservation()
                && lease.holder().cgroup().isEmpty()
                && pod(lease).filter(it -> it.uid().isEmpty()).isPresent();
    }

    /** A kubelet that does not answer says nothing of its pods. */
    @Override
    public Life life(Lease lease, HostView view) {
        if (isUnknown(lease)) {
            return new Life.Unknown(); // any pod's processes may be its own
        }
        Origin.Pod pod = pod(lease).orElse(Origin.Pod.UNKNOWN);
        Optional<ProcessId> process =
                lease.holder()
                        .cgroup()
                        .flatMap(directory -> processIn(directory, lease.holder()))
                        .or(() -> group(pod.uid()).map(Processes.Group::process))
                        .or(() -> joined(lease).values().stream().findFirst());
        if (process.isPresent()) {
            return new Life.Running(process.get());
        }
        Optional<String> claim = claim(lease).filter(_ -> !sights.isStopped());
        if (claim.isPresent()) {
            return sights.isGivenBack(claim.get())
                    ? new Life.Gone(
                            "the kubelet has given back its resource claim, and nothing of the pod"
                                    + " runs")
                    : new Life.Unknown();
        }
        return sights.listed(lease, pod) == PodSights.Listed.NO
                ? new Life.Gone(
                        (sights.isStopped()
                                        ? "no kubelet is served"
                                        : "the kubelet no longer lists it")
                                + ", and nothing of the pod runs")
                : new Life.Unknown();
    }

    /**
     * The other pods that run with the resource claim of a lease, by their uids, with a process of
     * each. A kubelet lets a pod join a claim without a word to the driver.
     */
    private Map<String, ProcessId> joined(Lease lease) {
        Set<String> others = claim(lease).map(sights::users).orElse(new HashSet<>());
        others.remove(pod(lease).orElse(Origin.Pod.UNKNOWN).uid());
        if (others.isEmpty()) {
            return Map.of();
        }
        Map<String, ProcessId> running = new TreeMap<>();
        groups().forEach((uid, group) -> {
            if (others.contains(uid)) {
                running.put(uid, group.process());
            }
        });
        return running;
    }

    /** Says of each such pod which GPUs it uses beside the lease's own. */
    Stream<String> joinedText(Lease lease) {
        return joined(lease).keySet().stream()
                .map(uid ->
                        "pod %s uses %s beside %s, whose resource claim it has joined"
                                .formatted(
                                        uid,
                                        LeaseText.names(lease.claim().gpus()),
                                        LeaseText.holder(lease)));
    }

    /** Returns a process of a cgroup; those of another PID namespace have no number here. */
    private Optional<ProcessId> processIn(String cgroup, Holder holder) {
        return processes.hasProcesses(cgroup)
                ? processes.oldest(cgroup).or(() -> Optional.of(holder.process()))
                : Optional.empty();
    }

    @Override
    public String runs(Lease lease, ProcessId process) {
        for (Map.Entry<String, ProcessId> other : joined(lease).entrySet()) {
            if (other.getValue().equals(process)) {
                return "a process (pid %s) of pod %s runs, which has the same resource claim"
                        .formatted(process.pid(), other.getKey());
            }
        }
        return "a process of the pod (pid " + process.pid() + ") runs";
    }

    @Override
    public String unknown(Lease lease) {
        if (claim(lease).isPresent()) {
            return "nothing of the pod runs, but the kubelet has not given back its resource claim";
        }
        return isUnknown(lease)
                ? "the kubelet does not name the pod, so that its processes are not known"
                : "nothing of the pod runs, but the kubelet lists its GPU, or has not answered"
                        + " since";
    }

    @Override
    public String unknownNote(Lease lease) {
        return isUnknown(lease) ? "the kubelet does not name the pod" : "starting";
    }

    /** The node's own runtime gives such a container every node of the host. */
    @Override
    public String note(Lease lease) {
        Set<String> others = joined(lease).keySet();
        if (!others.isEmpty()) {
            return "also used by pod " + String.join(", ", others);
        }
        return lease.holder().cgroup().filter(processes::arePrivileged).isPresent()
                ? "privileged: can open every GPU"
                : "";
    }
}
