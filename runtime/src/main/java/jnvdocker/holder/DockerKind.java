package jnvdocker.holder;

import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;

import java.util.Optional;

/** Containers with an engine that mounts the volume of their claim at each start. */
final class DockerKind extends ContainerKind {
    private final Processes processes;

    DockerKind(Processes processes, ClaimMounts mounts) {
        super(mounts);
        this.processes = processes;
    }

    @Override
    public Origin.Kind kind() {
        return Origin.Kind.ENGINE;
    }

    @Override
    public boolean mayComeBack(Lease lease) {
        return lease.holder().stage() == Holder.Stage.HELD;
    }

    @Override
    public Life life(Lease lease, HostView view) {
        Holder holder = lease.holder();
        Optional<ProcessId> init = holder.init();
        if (init.isPresent()
                && (processes.isAlive(init.get())
                        || holder.cgroup().filter(processes::hasProcesses).isPresent())) {
            return new Life.Running(init.get());
        }
        // Regardless of its first process: a process that sees the claim's directory belongs to the
        // container.
        Optional<ProcessId> inside = inside(lease, view);
        if (inside.isPresent()) {
            return new Life.Running(inside.get());
        }
        if (mayBeUnread(lease, view)) {
            return new Life.Unknown();
        }
        // As long as docker has it mounted, a start may be under way that has no process yet, also
        // when the one that we know of is gone.
        if (lease.mounts() > 0 && processes.isAlive(holder.process())) {
            return new Life.Starting();
        }
        if (init.isPresent()) {
            return new Life.Gone("its first process (pid " + init.get().pid() + ") is gone");
        }
        return new Life.Gone(
                lease.mounts() == 0
                        ? "docker has unmounted it, and nothing of it runs"
                        : "the engine that mounted it is gone, and nothing of it runs");
    }
}
