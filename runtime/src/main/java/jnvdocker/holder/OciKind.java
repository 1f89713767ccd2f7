package jnvdocker.holder;

import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.use.GpuUse;

import java.util.Optional;

/** Containers that our OCI runtime creates. */
public final class OciKind extends ContainerKind {
    private final Processes processes;

    OciKind(Processes processes, ClaimMounts mounts) {
        super(mounts);
        this.processes = processes;
    }

    @Override
    public Origin.Kind kind() {
        return Origin.Kind.OCI;
    }

    @Override
    public Life life(Lease lease, HostView view) {
        Holder holder = lease.holder();
        Optional<ProcessId> init = holder.init();
        if (processes.isAlive(holder.process())) {
            return new Life.Running(init.filter(processes::isAlive).orElse(holder.process()));
        }
        if (init.isPresent() && processes.isAlive(init.get())) {
            return new Life.Running(init.get());
        }
        if (holder.cgroup().filter(processes::hasProcesses).isPresent()) {
            return new Life.Running(init.orElse(holder.process()));
        }
        Optional<ProcessId> inside = inside(lease, view);
        if (inside.isPresent()) {
            return new Life.Running(inside.get());
        }
        if (mayBeUnread(lease, view)) {
            return new Life.Unknown();
        }
        return new Life.Gone(
                init.map(first -> "its first process (pid " + first.pid() + ") is gone")
                        .orElse(
                                "its creation (pid "
                                        + holder.process().pid()
                                        + ") has ended, and nothing of it runs"));
    }

    @Override
    public boolean owns(GpuUse.User process, Lease lease) {
        return process.id().equals(lease.holder().process())
                || lease.holder().init().filter(process.id()::equals).isPresent()
                || super.owns(process, lease);
    }

    /** A container that never ran is not started again. */
    @Override
    public boolean mayComeBack(Lease lease) {
        return lease.holder().init().isPresent();
    }

    /**
     * Whether what lives of a container is the first process of its next start, and nothing else.
     */
    boolean isNext(ProcessId first, Lease lease, HostView view) {
        Holder last = lease.holder();
        return !lease.isOfClient()
                && !processes.isAlive(last.process())
                && last.init().filter(processes::isAlive).isEmpty()
                && last.cgroup().filter(it -> processes.isAlone(first, it)).isPresent()
                && inside(lease, view).isEmpty();
    }

    @Override
    public String runs(Lease lease, ProcessId process) {
        Holder holder = lease.holder();
        return holder.init().filter(processes::isAlive).isPresent() || holder.cgroup().isEmpty()
                ? super.runs(lease, process)
                : "its first process has ended, but others run: "
                        + holder.cgroup().get()
                        + "/cgroup.procs lists them";
    }
}
