package jnvdocker.lease;

import jnvdocker.posix.FileErrors;
import jnvdocker.process.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.use.GpuUse;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Looks whether a lease's holder is gone, at nothing but this machine's processes and cgroups: that
 * takes no engine and no time. What is not known to be gone is there.
 */
final class Evidence {
    private static final String MOUNTED = "/([0-9a-f]{12})/" + ClaimFiles.MOUNTED;

    /**
     * Wherever it is: ids are random, and one that was missed would be a holder that was missed.
     */
    private static final Pattern ANY_CLAIM = Pattern.compile(".*/" + ClaimFiles.FOLDER + MOUNTED);

    /** The controller with which an agent of Mesos tells its containers apart. */
    private static final String FREEZER = "freezer";

    private static final Logger LOG = LoggerFactory.getLogger(Evidence.class);

    private final Processes processes;
    private final String boot;

    Evidence(Processes processes, String boot) {
        this.processes = processes;
        this.boot = boot;
    }

    /** What was seen of a holder. */
    sealed interface Finding {}

    /**
     * @param process one of it that lives
     */
    record Alive(ProcessId process) implements Finding {}

    /**
     * @param evidence for people
     */
    record Gone(String evidence) implements Finding {}

    /** It may be either: docker has mounted the claim and nothing runs, or we can't look. */
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
            };
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return new Unclear();
        }
    }

    /** The oldest process in each container that has a claim mounted, by the claim's id. */
    Map<String, ProcessId> containers() {
        return processes.oldestWithMount(ANY_CLAIM);
    }

    /** Those of claims beneath one state folder: another daemon has one of its own. */
    Set<String> claimsBeneath(Path state) {
        Pattern here =
                processes
                        .mountRoot(state)
                        .map(root -> Path.of(root, ClaimFiles.FOLDER).toString())
                        .map(claims -> Pattern.compile(Pattern.quote(claims) + MOUNTED))
                        .orElse(ANY_CLAIM);
        return processes.oldestWithMount(here).keySet();
    }

    /** Whether a process is of the container, or is the process, that holds a lease. */
    boolean isOfHolder(GpuUse.User process, Lease lease) {
        try {
            return switch (lease.holder()) {
                case Holder.Process(ProcessId first, String _) ->
                        first.equals(process.id())
                                || processes.cgroup(process.id(), group(lease.claim())).isPresent();
                case Holder.MesosContainer container ->
                        processes
                                .cgroupOf(process.id(), FREEZER)
                                .filter(cgroup -> isIn(cgroup, container.freezer()))
                                .isPresent();
                case Holder.Client _, Holder.Container _ -> isOfContainer(process, lease);
            };
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return true;
        }
    }

    private static boolean isIn(String cgroup, String folder) {
        return cgroup.equals(folder) || cgroup.startsWith(folder + "/");
    }

    private boolean isOfContainer(GpuUse.User process, Lease lease) {
        Optional<String> id = process.containerId();
        boolean named =
                id.isPresent() && lease.claim().container().map(Claim.ContainerRef::id).equals(id);
        boolean inItsCgroup =
                id.isPresent()
                        && lease.holder() instanceof Holder.Container holder
                        && holder.cgroup().filter(path -> path.contains(id.get())).isPresent();
        return named
                || inItsCgroup
                || processes.mounted(process.id(), ANY_CLAIM).contains(lease.claim().id());
    }

    /** The name of the cgroup that a process of the host and all it starts are in. */
    static String group(Claim claim) {
        return "jnvdocker-" + claim.id();
    }

    /** Whether what lives of a lease's holder, if anything, is of that container. */
    boolean isOf(String container, Lease lease, Finding finding) {
        if (!(finding instanceof Alive(ProcessId process))) {
            return true;
        }
        boolean inItsCgroup =
                lease.holder() instanceof Holder.Container holder
                        && holder.cgroup().filter(path -> path.contains(container)).isPresent();
        try {
            return inItsCgroup || processes.cgroup(process, container).isPresent();
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return false;
        }
    }

    private Finding client(Lease lease, ProcessId client) {
        return processes.isAlive(client)
                ? new Alive(client)
                : new Gone(Refusals.command(lease.claim(), client) + " has ended");
    }

    private Finding process(Holder.Process holder) {
        ProcessId process = holder.process();
        return processes.isAlive(process) || processes.hasProcesses(holder.cgroup())
                ? new Alive(process)
                : new Gone("its process (pid " + process.pid() + ") is gone, and all it started");
    }

    /**
     * The agent's own note of the end, and its folder's, come later, or never when the agent is
     * gone: what matters is that nothing runs.
     */
    private Finding mesos(Holder.MesosContainer container) {
        ProcessId process = container.process();
        return processes.isAlive(process) || processes.hasProcesses(container.freezer())
                ? new Alive(process)
                : new Gone("its process (pid " + process.pid() + ") is gone, and its cgroup empty");
    }

    private Finding container(Lease lease, Holder.Container container) {
        Optional<ProcessId> init = container.init();
        if (init.isPresent() && processes.isAlive(init.get())) {
            return new Alive(init.get());
        }
        if (init.isPresent() && container.cgroup().filter(processes::hasProcesses).isPresent()) {
            return new Alive(init.get());
        }
        // Whatever was learnt of its first process: who sees the claim's folder is of the
        // container.
        ProcessId inside = containers().get(lease.claim().id());
        if (inside != null) {
            return new Alive(inside);
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

    /** What a live lease makes of its GPUs: RESERVED, HELD or STUCK. */
    GpuStatus.State state(Lease lease, Finding finding) {
        if (finding instanceof Alive(ProcessId process) && isDying(process)) {
            return GpuStatus.State.STUCK;
        }
        return lease.isReservation() ? GpuStatus.State.RESERVED : GpuStatus.State.HELD;
    }

    /** Whether a process has been sent SIGKILL and does not end. */
    boolean isDying(ProcessId process) {
        return processes.isKilled(process);
    }

    /** The cgroup of a container, when its process is in one that is named after it. */
    Optional<String> cgroup(ProcessId process, String container) {
        return processes.cgroup(process, container);
    }

    /** Who can't be looked at is not known to be gone. */
    boolean isAlive(ProcessId process) {
        try {
            return processes.isAlive(process);
        } catch (UncheckedIOException e) {
            LOG.warn("process {}: {}", process.pid(), FileErrors.describe(e.getCause()));
            return true;
        }
    }

    Optional<ProcessId> process(int pid) {
        return processes.find(pid);
    }
}
