package jnvdocker.grant;

import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;

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

    private final Processes processes;
    private final PodSights sights;

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
     * Whether the kubelet has made a cgroup for a pod, in which the processes of the pod will be.
     */
    boolean hasCgroup(String uid) {
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

    /** A kubelet that does not answer says nothing of its pods. */
    Evidence.Finding of(Lease lease, Holder.Pod holder) {
        Origin.Pod pod = PodReport.pod(lease).orElse(Origin.Pod.UNKNOWN);
        if (pod.uid().isEmpty() && holder.cgroup().isEmpty()) {
            return new Evidence.Unclear(); // any pod's processes may be its own
        }
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
