package jnvdocker.holder;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;

import java.util.Optional;

/** Says for people what the holders of leases do, by the evidence of this moment. */
public final class HolderText {
    private final Evidence evidence;

    public HolderText(Evidence evidence) {
        this.evidence = evidence;
    }

    /** The state of a live lease's GPUs: RESERVED, HELD or STUCK. */
    public GpuStatus.State state(Lease lease) {
        return evidence.state(lease, evidence.of(lease));
    }

    /** What else keeps a lease's holder, in whole sentences for people; empty if nothing does. */
    public Optional<String> keptBy(Lease lease) {
        return evidence.kind(lease).keptBy(lease);
    }

    /**
     * The evidence that keeps a lease alive, for people: {@code its first process (pid 4711) runs}.
     */
    public String explain(Lease lease) {
        return switch (evidence.of(lease)) {
            case Life.Running(ProcessId process) when lease.isReservation() ->
                    LeaseText.command(lease.claim(), process)
                            + switch (lease.claim().origin().kind()) {
                                case OCI ->
                                        lease.claim().container().isPresent()
                                                ? " is being created"
                                                : " has not started its container yet";
                                case ENGINE, MESOS -> " has not started its container yet";
                                case PROCESS -> " has not started its command yet";
                                case POD -> " has not been started by the kubelet yet";
                            }
                            + stopped(process);
            case Life.Running(ProcessId process) when evidence.isDying(process) ->
                    "its process (pid " + process.pid() + ") was killed and does not end";
            case Life.Running(ProcessId process) when evidence.isFrozenDead(process) ->
                    "its process (pid "
                            + process.pid()
                            + ") was killed, and ends when its cgroup is thawed (docker unpause, if"
                            + " docker has paused it)";
            case Life.Running(ProcessId process) ->
                    evidence.kind(lease).runs(lease, process)
                            + (evidence.isPaused(lease, process)
                                    ? ", and is paused until its engine lets it go on (docker"
                                            + " unpause)"
                                    : lease.isOfContainer() ? "" : stopped(process));
            case Life.Gone(String why) ->
                    why
                            + evidence.memory(lease)
                                    .kept()
                                    .map(kept -> ", but " + kept)
                                    .orElse("; the engine may be about to start it again");
            case Life.Starting _ -> "docker has mounted its claim, and nothing of it runs yet";
            case Life.Unknown _ -> evidence.kind(lease).unknown(lease);
        };
    }

    private String stopped(ProcessId process) {
        int pid = process.pid();
        return evidence.isStopped(process)
                ? ", and is stopped: kill -CONT %s lets it go on, kill -KILL %s ends it"
                        .formatted(pid, pid)
                : "";
    }
}
