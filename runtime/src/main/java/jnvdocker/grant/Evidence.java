package jnvdocker.grant;

import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.use.GpuUse;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Looks whether a lease's holder is gone, at nothing but this machine's processes and cgroups: that
 * takes no engine and no time. A holder that is not known to be gone counts as alive.
 */
final class Evidence {
    /** The controller with which an agent of Mesos tells its containers apart. */
    private static final String FREEZER = "freezer";

    private static final Logger LOG = LoggerFactory.getLogger(Evidence.class);

    private final Processes processes;
    private final String boot;
    private final ClaimMounts mounts;
    private final PodEvidence pods;
    private final Map<Long, String> kept = new ConcurrentHashMap<>();

    /**
     * @param state the state directory, in which our claims are
     * @param sights what the kubelet has told
     */
    Evidence(Processes processes, String boot, Path state, PodSights sights) {
        this.processes = processes;
        this.boot = boot;
        this.mounts = new ClaimMounts(processes, state);
        this.pods = new PodEvidence(processes, sights);
    }

    /** The evidence of a holder. */
    sealed interface Finding {}

    /**
     * @param process one of it that lives
     */
    record Alive(ProcessId process) implements Finding {}

    /**
     * @param evidence for people
     */
    record Gone(String evidence) implements Finding {}

    /** It may be either: docker has mounted the claim and nothing runs, or we cannot look. */
    record Unclear() implements Finding {}

    Finding of(Lease lease) {
        if (!lease.boot().equals(boot)) {
            return new Gone("the host was restarted");
        }
        try {
            return switch (lease.holder()) {
                case Holder.Client(ProcessId client) -> client(lease, client);
                case Holder.Process process -> process(process);
                case Holder.MesosContainer container -> mesos(container);
                case Holder.Container container -> container(lease, container);
                case Holder.OciContainer container -> oci(lease, container);
                case Holder.Kubelet _ -> pods.ofReservation(lease);
                case Holder.Pod pod -> pods.of(lease, pod);
            };
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return new Unclear();
        }
    }

    /** The claims that are mounted, by what only root and its engines can mount. */
    ClaimMounts.Seen mountedClaims() {
        return mounts.seen();
    }

    /**
     * A process of each container that has a claim mounted, by the claim's id; the oldest first.
     */
    Map<String, List<ProcessId>> containers() {
        return mountedClaims().ours();
    }

    /** The oldest process that has a lease's claim mounted and may be of its holder. */
    Optional<ProcessId> inside(Lease lease) {
        return mounts.inside(lease, mountedClaims());
    }

    /** The identity of a process that uses a GPU. */
    GpuUse.User user(ProcessId process) {
        return processes
                .traits(process)
                .map(it -> new GpuUse.User(process, it.name(), it.uid(), it.container()))
                .orElseGet(() -> new GpuUse.User(process, "?", 0, Optional.empty()));
    }

    /** The programs that {@code gpu run} has started and that run, by their claims. */
    Map<String, Holder.Process> groups() throws IOException {
        try {
            Map<String, Holder.Process> groups = new HashMap<>();
            processes
                    .groups(ProgramGroup.NAME)
                    .forEach((claim, group) ->
                            groups.put(claim, new Holder.Process(group.process(), group.folder())));
            return groups;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /** Whether a process is of the container, or is the process, that holds a lease. */
    boolean isOfHolder(GpuUse.User process, Lease lease) {
        try {
            return switch (lease.holder()) {
                case Holder.Process(ProcessId first, String cgroup) ->
                        first.equals(process.id())
                                || processes
                                        .cgroup(process.id(), ProgramGroup.of(lease.claim()))
                                        .filter(cgroup::equals)
                                        .isPresent();
                case Holder.MesosContainer container ->
                        processes
                                .cgroupOf(process.id(), FREEZER)
                                .filter(cgroup -> isIn(cgroup, container.freezer()))
                                .isPresent();
                case Holder.Client _, Holder.Container _ -> isOfContainer(process, lease);
                case Holder.Kubelet _ -> false;
                case Holder.Pod _ -> pods.isOf(process.id(), lease);
                case Holder.OciContainer container ->
                        process.id().equals(container.process())
                                || container.init().filter(process.id()::equals).isPresent()
                                || isOfContainer(process, lease);
            };
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return true;
        }
    }

    /** The evidence of pods. */
    PodEvidence pods() {
        return pods;
    }

    private static boolean isIn(String cgroup, String folder) {
        return cgroup.equals(folder) || cgroup.startsWith(folder + "/");
    }

    private boolean isOfContainer(GpuUse.User process, Lease lease) {
        Optional<String> id = process.containerId();
        boolean named =
                id.isPresent() && lease.claim().container().map(Claim.ContainerRef::id).equals(id);
        boolean inItsCgroup = id.isPresent() && isCgroupNamedAfter(id.get(), lease);
        return named
                || inItsCgroup
                || mounts.has(process.id(), lease.claim().id())
                        && !mounts.isOfAnother(process.id(), lease);
    }

    /** As docker names a container's, of which it may be known. */
    private static boolean isCgroupNamedAfter(String container, Lease lease) {
        return ClaimMounts.cgroup(lease).filter(path -> path.contains(container)).isPresent();
    }

    /** Whether a process is in the container of a lease, by what only root can have done. */
    boolean isInside(ProcessId process, Lease lease) {
        try {
            return mounts.has(process, lease.claim().id())
                    || lease.claim()
                            .container()
                            .flatMap(it -> processes.cgroup(process, it.id()))
                            .isPresent();
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return false;
        }
    }

    /** Whether what lives of a lease's holder, if anything, is of that container. */
    boolean isOf(String container, Lease lease, Finding finding) {
        if (!(finding instanceof Alive(ProcessId process))) {
            return true;
        }
        try {
            return isCgroupNamedAfter(container, lease)
                    || processes.cgroup(process, container).isPresent();
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return false;
        }
    }

    private Finding client(Lease lease, ProcessId client) {
        return processes.isAlive(client)
                ? new Alive(client)
                : new Gone(LeaseText.command(lease.claim(), client) + " has ended");
    }

    private Finding process(Holder.Process holder) {
        ProcessId process = holder.process();
        return processes.isAlive(process) || processes.hasProcesses(holder.cgroup())
                ? new Alive(process)
                : new Gone("its process (pid " + process.pid() + ") is gone, and all it started");
    }

    /**
     * The agent's own note of the end, and its directory's, come later, or never when the agent is
     * gone: what matters is that nothing runs.
     */
    private Finding mesos(Holder.MesosContainer container) {
        ProcessId process = container.process();
        return processes.isAlive(process) || processes.hasProcesses(container.freezer())
                ? new Alive(process)
                : new Gone("its process (pid " + process.pid() + ") is gone, and its cgroup empty");
    }

    /** No engine need be asked: our runtime is told of the next start before there is anything. */
    private Finding oci(Lease lease, Holder.OciContainer container) {
        Optional<ProcessId> init = container.init();
        if (processes.isAlive(container.process())) {
            return new Alive(init.filter(processes::isAlive).orElse(container.process()));
        }
        if (init.isPresent() && processes.isAlive(init.get())) {
            return new Alive(init.get());
        }
        if (container.cgroup().filter(processes::hasProcesses).isPresent()) {
            return new Alive(init.orElse(container.process()));
        }
        ClaimMounts.Seen mounted = mountedClaims();
        Optional<ProcessId> inside = mounts.inside(lease, mounted);
        if (inside.isPresent()) {
            return new Alive(inside.get());
        }
        if (!mounted.complete()) {
            return new Unclear();
        }
        return new Gone(
                init.map(first -> "its first process (pid " + first.pid() + ") is gone")
                        .orElse(
                                "its creation (pid "
                                        + container.process().pid()
                                        + ") has ended, and nothing of it runs"));
    }

    /**
     * Whether what lives of a container is the first process of its next start, and nothing else.
     */
    boolean isNext(ProcessId first, Lease lease) {
        try {
            return switch (lease.holder()) {
                case Holder.OciContainer last ->
                        !processes.isAlive(last.process())
                                && last.init().filter(processes::isAlive).isEmpty()
                                && last.cgroup()
                                        .filter(it -> processes.isAlone(first, it))
                                        .isPresent()
                                && inside(lease).isEmpty();
                case Holder.Client _,
                        Holder.Process _,
                        Holder.MesosContainer _,
                        Holder.Container _,
                        Holder.Kubelet _,
                        Holder.Pod _ ->
                        false;
            };
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return false;
        }
    }

    private Finding container(Lease lease, Holder.Container container) {
        Optional<ProcessId> init = container.init();
        if (init.isPresent() && processes.isAlive(init.get())) {
            return new Alive(init.get());
        }
        if (init.isPresent() && container.cgroup().filter(processes::hasProcesses).isPresent()) {
            return new Alive(init.get());
        }
        // Regardless of its first process: a process that sees the claim's directory belongs to the
        // container.
        ClaimMounts.Seen mounted = mountedClaims();
        Optional<ProcessId> inside = mounts.inside(lease, mounted);
        if (inside.isPresent()) {
            return new Alive(inside.get());
        }
        if (!mounted.complete()) {
            return new Unclear();
        }
        // As long as docker has it mounted, a start may be under way that has no process yet, also
        // when the one that we know of is gone.
        if (lease.mounts() > 0 && processes.isAlive(container.process())) {
            return new Unclear();
        }
        if (init.isPresent()) {
            return new Gone("its first process (pid " + init.get().pid() + ") is gone");
        }
        return new Gone(
                lease.mounts() == 0
                        ? "docker has unmounted it, and nothing of it runs"
                        : "the engine that mounted it is gone, and nothing of it runs");
    }

    /**
     * Remembers why a lease cannot end though nothing of its holder lives.
     *
     * @return whether that is new
     */
    boolean keep(Lease lease, String why) {
        return !why.equals(kept.put(lease.id(), why));
    }

    /** It has ended. */
    void forget(Lease lease) {
        kept.remove(lease.id());
    }

    /** Why a lease cannot end whose holder is gone. */
    Optional<String> kept(Lease lease) {
        return Optional.ofNullable(kept.get(lease.id()));
    }

    /** The state of a live lease's GPUs: RESERVED, HELD or STUCK. */
    GpuStatus.State state(Lease lease, Finding finding) {
        if (finding instanceof Gone && kept(lease).isPresent()) {
            return GpuStatus.State.STUCK;
        }
        if (finding instanceof Alive(ProcessId process) && isDying(process)) {
            return GpuStatus.State.STUCK;
        }
        return lease.isReservation() ? GpuStatus.State.RESERVED : GpuStatus.State.HELD;
    }

    /** Whether a process has been sent SIGKILL and hangs in the kernel. */
    boolean isDying(ProcessId process) {
        return processes.isKilled(process) && !processes.isFrozen(process);
    }

    /** Whether a process has been sent SIGKILL and ends as soon as its cgroup is thawed. */
    boolean isFrozenDead(ProcessId process) {
        return processes.isKilled(process) && processes.isFrozen(process);
    }

    /** The cgroup of a container, when its process is in one that is named after it. */
    Optional<String> cgroup(ProcessId process, String container) {
        return processes.cgroup(process, container);
    }

    /** A process that cannot be looked at is not known to be gone. */
    boolean isAlive(ProcessId process) {
        try {
            return processes.isAlive(process);
        } catch (UncheckedIOException e) {
            LOG.warn("process {}: {}", process.pid(), FileErrors.describe(e.getCause()));
            return true;
        }
    }

    /** Whether a process does nothing until it is told to go on. */
    boolean isStopped(ProcessId process) {
        try {
            return processes.isStopped(process);
        } catch (UncheckedIOException e) {
            LOG.warn("process {}: {}", process.pid(), FileErrors.describe(e.getCause()));
            return false;
        }
    }

    /** The oldest process in a cgroup. */
    Optional<ProcessId> oldest(String cgroup) {
        return processes.oldest(cgroup);
    }

    Optional<ProcessId> process(int pid) {
        return processes.find(pid);
    }
}
