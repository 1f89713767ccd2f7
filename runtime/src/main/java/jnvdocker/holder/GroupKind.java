package jnvdocker.holder;

import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;

/** Holders that are one process, and all that it starts in a cgroup of its own. */
public abstract class GroupKind implements HolderKind {
    private final Processes processes;

    protected GroupKind(Processes processes) {
        this.processes = processes;
    }

    /** The end of a holder after its first process: {@code and all it started}. */
    protected abstract String rest();

    /** A holder's first process, for people: {@code its process}. */
    protected abstract String first();

    /** Describes the processes that are left after the first has ended, for messages. */
    protected abstract String others();

    @Override
    public final Life life(Lease lease, HostView view) {
        ProcessId process = lease.holder().process();
        return processes.isAlive(process)
                        || lease.holder().cgroup().filter(processes::hasProcesses).isPresent()
                ? new Life.Running(process)
                : new Life.Gone("its process (pid " + process.pid() + ") is gone, " + rest());
    }

    @Override
    public final String runs(Lease lease, ProcessId process) {
        return processes.isAlive(process)
                ? HolderKind.super.runs(lease, process)
                : "%s (pid %s) has ended, %s run: %s/cgroup.procs lists them"
                        .formatted(
                                first(),
                                process.pid(),
                                others(),
                                lease.holder().cgroup().orElse(""));
    }
}
