package jnvdocker.grant;

import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Whether pods have ended: by the processes in their cgroups, which only root can have made, and by
 * what their kubelet has told. The directory of a pod is {@code pod<uid>} by the kubelet's cgroupfs
 * driver, and {@code kubepods-burstable-pod<uid>.slice}, with underscores, by that for systemd.
 */
final class PodEvidence {
    private static final Pattern GROUP =
            Pattern.compile("(?:[a-z0-9-]{0,64}-)?pod([0-9a-f][0-9a-f_-]{7,63})(?:[.]slice)?");

    private static final Refusal NO_CGROUP =
            new Refusal(
                    "the kubelet has made no cgroup for the pod, so that the end of the pod could"
                            + " not be seen",
                    "set cgroupsPerQOS to true in the kubelet's configuration, and restart the"
                            + " kubelet");

    private final Processes processes;
    private final PodSights sights;
    private volatile Optional<Refusal> fault = Optional.empty();

    PodEvidence(Processes processes, PodSights sights) {
        this.processes = processes;
        this.sights = sights;
    }

    /** The cgroups of pods that have processes, by the uids of the pods. */
    Map<String, Processes.Group> groups() {
        Map<String, Processes.Group> groups = new HashMap<>();
        processes.groups(GROUP).forEach((uid, group) -> groups.put(uid.replace('_', '-'), group));
        return groups;
    }

    /** The uid of the pod whose directory of cgroups this is; empty if it is of none. */
    static Optional<String> uid(Path folder) {
        return Optional.ofNullable(folder.getFileName())
                .map(name -> GROUP.matcher(name.toString()))
                .filter(Matcher::matches)
                .map(matcher -> matcher.group(1).replace('_', '-'));
    }

    /**
     * Refuses a pod that is to start, and for which its kubelet has made no cgroup. It makes one
     * before the first container starts, unless it was configured to make none. The pod's processes
     * could then not be told from others, and its lease would end while they run.
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

    /** Whether a lease is of the pod that a process is of. */
    boolean isOf(ProcessId process, Lease lease) {
        return switch (lease.holder()) {
            case Holder.Pod pod -> pod.cgroup().filter(folder -> isIn(process, folder)).isPresent();
            case Holder.Kubelet _,
                    Holder.Client _,
                    Holder.Process _,
                    Holder.MesosContainer _,
                    Holder.Container _,
                    Holder.OciContainer _ ->
                    false;
        };
    }

    /** Whether a process is in the cgroup of a pod, or below it. */
    boolean isIn(ProcessId process, String folder) {
        return processes
                .cgroup(process, Path.of(folder).getFileName().toString())
                .filter(folder::equals)
                .isPresent();
    }

    /**
     * What a kubelet has reserved may become a pod's long after: its image is pulled first, or an
     * init container runs, which the kubelet does not list.
     */
    Evidence.Finding ofReservation(Lease lease) {
        return switch (sights.given(lease)) {
            case YES, UNKNOWN -> new Evidence.Alive(lease.holder().process());
            case NO -> {
                Set<String> running = groups().keySet();
                boolean runs =
                        sights.remembered(lease).stream()
                                .map(Origin.Pod::uid)
                                .anyMatch(running::contains);
                yield runs
                        ? new Evidence.Alive(lease.holder().process())
                        : new Evidence.Gone("the kubelet has given it to no pod");
            }
        };
    }

    /** Whether a lease is of a pod of which neither the uid nor a cgroup is known. */
    static boolean isUnknown(Lease lease) {
        return switch (lease.holder()) {
            case Holder.Pod pod ->
                    pod.cgroup().isEmpty()
                            && PodReport.pod(lease).filter(it -> it.uid().isEmpty()).isPresent();
            case Holder.Kubelet _,
                    Holder.Client _,
                    Holder.Process _,
                    Holder.MesosContainer _,
                    Holder.Container _,
                    Holder.OciContainer _ ->
                    false;
        };
    }

    /** A kubelet that does not answer says nothing of its pods. */
    Evidence.Finding of(Lease lease, Holder.Pod holder) {
        if (isUnknown(lease)) {
            return new Evidence.Unclear(); // any pod's processes may be its own
        }
        Origin.Pod pod = PodReport.pod(lease).orElse(Origin.Pod.UNKNOWN);
        Optional<ProcessId> process =
                holder.cgroup()
                        .flatMap(folder -> processIn(folder, holder))
                        .or(() -> group(pod.uid()).map(Processes.Group::process));
        if (process.isPresent()) {
            return new Evidence.Alive(process.get());
        }
        return sights.listed(lease, pod) == PodSights.Listed.NO
                ? new Evidence.Gone(
                        (sights.isStopped()
                                        ? "no kubelet is served"
                                        : "the kubelet no longer lists it")
                                + ", and nothing of the pod runs")
                : new Evidence.Unclear();
    }

    /** Those of another PID namespace have no number here. */
    private Optional<ProcessId> processIn(String cgroup, Holder holder) {
        return processes.hasProcesses(cgroup)
                ? processes.oldest(cgroup).or(() -> Optional.of(holder.process()))
                : Optional.empty();
    }
}
