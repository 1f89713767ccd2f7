package jnvdocker.holder;

import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.use.GpuUse;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Finds out whether a lease's holder is gone, by this machine's processes and cgroups alone: that
 * needs no engine and takes no time. A holder that is not known to be gone counts as alive.
 */
public final class Evidence {
    private static final Logger LOG = LoggerFactory.getLogger(Evidence.class);

    private final Processes processes;
    private final String boot;
    private final ClaimMounts mounts;
    private final List<HolderKind> kinds;
    private final OciKind oci;
    private final ProcessKind programs;
    private final Map<Long, Memory> memories = new ConcurrentHashMap<>();

    /**
     * @param state the state directory, in which our claims are
     * @param others the kinds of holders that packages after this one know
     */
    public Evidence(Processes processes, String boot, Path state, List<HolderKind> others) {
        this.processes = processes;
        this.boot = boot;
        mounts = new ClaimMounts(processes, state);
        oci = new OciKind(processes, mounts);
        programs = new ProcessKind(processes);
        List<HolderKind> all =
                new ArrayList<>(List.of(new DockerKind(processes, mounts), oci, programs));
        all.addAll(others);
        kinds = List.copyOf(all);
    }

    /** All kinds of holders. */
    public List<HolderKind> kinds() {
        return kinds;
    }

    /** Returns the host's state from now on, for one pass over leases that were read before. */
    public HostView view() {
        return new HostView(processes, mounts::seen);
    }

    /** The kind of a lease's holder. */
    public HolderKind kind(Lease lease) {
        Origin origin = lease.claim().origin();
        return kinds.stream()
                .filter(kind -> kind.kind() == origin.kind())
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no kind of holder for " + origin));
    }

    public Life of(Lease lease) {
        return of(lease, view());
    }

    /** Finds out whether a lease's holder lives, by what was read in this pass. */
    public Life of(Lease lease, HostView view) {
        if (!lease.boot().equals(boot)) {
            return new Life.Gone("the host was restarted");
        }
        try {
            HolderKind kind = kind(lease);
            return lease.isOfClient() ? kind.reserved(lease, view) : kind.life(lease, view);
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return new Life.Unknown();
        }
    }

    /** The claims that are mounted, by what only root and its engines can mount. */
    public ClaimMounts.Seen mountedClaims() {
        return mounts.seen();
    }

    /**
     * A process of each container that has a claim mounted, by the claim's id; the oldest first.
     */
    public Map<String, List<ProcessId>> containers() {
        return mountedClaims().ours();
    }

    /** A process of a claim's container, of those that have it mounted; else the oldest. */
    public ProcessId itsOwn(Claim claim, List<ProcessId> mounting) {
        return mounts.itsOwn(claim, mounting).orElse(mounting.getFirst());
    }

    /** The oldest process that has a lease's claim mounted and may be of its holder. */
    public Optional<ProcessId> inside(Lease lease) {
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
    public Map<String, Holder> groups() throws IOException {
        try {
            Map<String, Holder> groups = new HashMap<>();
            processes
                    .groups(ProgramGroup.NAME)
                    .forEach((claim, group) ->
                            groups.put(claim, Holder.of(group.process(), group.directory())));
            return groups;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /** Returns a note about a lease's running holder for messages; empty if there is none. */
    public String note(Lease lease) {
        try {
            return kind(lease).note(lease);
        } catch (UncheckedIOException e) {
            LOG.debug("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return "";
        }
    }

    /** Whether a process is of the container, or is the process, that holds a lease. */
    public boolean isOfHolder(GpuUse.User process, Lease lease) {
        try {
            return kind(lease).owns(process, lease);
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return true;
        }
    }

    /** The evidence of programs of {@code gpu run}. */
    public ProcessKind programs() {
        return programs;
    }

    /** Whether a process is in the container of a lease, by what only root can have done. */
    public boolean isInside(ProcessId process, Lease lease) {
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
    public boolean isOf(String container, Lease lease, Life life) {
        if (!(life instanceof Life.Running(ProcessId process))) {
            return true;
        }
        try {
            return lease.holder().cgroup().filter(path -> path.contains(container)).isPresent()
                    || processes.cgroup(process, container).isPresent();
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return false;
        }
    }

    /**
     * Whether what lives of a container is the first process of its next start, and nothing else.
     */
    public boolean isNext(ProcessId first, Lease lease) {
        try {
            return kind(lease) == oci && oci.isNext(first, lease, view());
        } catch (UncheckedIOException e) {
            LOG.warn("lease {}: {}", lease.id(), FileErrors.describe(e.getCause()));
            return false;
        }
    }

    /** What is remembered of a lease that is held. */
    public Memory memory(Lease lease) {
        return memories.computeIfAbsent(lease.id(), _ -> new Memory());
    }

    /** Forgets all leases but those. */
    public void retain(Collection<Lease> leases) {
        memories.keySet().retainAll(leases.stream().map(Lease::id).collect(Collectors.toSet()));
    }

    /** The state of a live lease's GPUs: RESERVED, HELD or STUCK. */
    public GpuStatus.State state(Lease lease, Life finding) {
        if (finding instanceof Life.Gone && memory(lease).isStuck()) {
            return GpuStatus.State.STUCK;
        }
        if (finding instanceof Life.Running(ProcessId process) && isDying(process)) {
            return GpuStatus.State.STUCK;
        }
        return lease.isReservation() ? GpuStatus.State.RESERVED : GpuStatus.State.HELD;
    }

    /** Whether a process has been sent SIGKILL and hangs in the kernel. */
    public boolean isDying(ProcessId process) {
        return processes.isKilled(process) && !processes.isFrozen(process);
    }

    /** Whether a process has been sent SIGKILL and ends as soon as its cgroup is thawed. */
    public boolean isFrozenDead(ProcessId process) {
        return processes.isKilled(process) && processes.isFrozen(process);
    }

    /** Whether a lease's running holder does nothing until its engine lets it go on. */
    public boolean isPaused(Lease lease, ProcessId process) {
        return !lease.isReservation() && processes.isPaused(process, lease.holder().cgroup());
    }

    /** The cgroup of a container, when its process is in one that is named after it. */
    public Optional<String> cgroup(ProcessId process, String container) {
        return processes.cgroup(process, container);
    }

    /** Whether a process is alive; one that cannot be inspected counts as alive. */
    public boolean isAlive(ProcessId process) {
        try {
            return processes.isAlive(process);
        } catch (UncheckedIOException e) {
            LOG.warn("process {}: {}", process.pid(), FileErrors.describe(e.getCause()));
            return true;
        }
    }

    /** Whether a process was stopped and does nothing until it is sent SIGCONT. */
    public boolean isStopped(ProcessId process) {
        try {
            return processes.isStopped(process);
        } catch (UncheckedIOException e) {
            LOG.warn("process {}: {}", process.pid(), FileErrors.describe(e.getCause()));
            return false;
        }
    }

    /** Whether podman has yet to decide what comes of a container that has ended. */
    public boolean isMonitored(String container) {
        return processes.isMonitored(container);
    }

    /** The oldest process in a cgroup. */
    Optional<ProcessId> oldest(String cgroup) {
        return processes.oldest(cgroup);
    }

    public Optional<ProcessId> process(int pid) {
        return processes.find(pid);
    }
}
