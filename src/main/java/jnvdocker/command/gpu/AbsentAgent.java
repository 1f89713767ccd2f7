package jnvdocker.command.gpu;

import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.mesos.agent.RunningAgent;

import java.util.Optional;

/**
 * The reason why a Mesos task keeps its GPUs while its agent is down: even if the task has ended,
 * its executor runs until it has notified the agent.
 */
final class AbsentAgent {
    private AbsentAgent() {}

    /** Returns empty for other leases, and as long as any agent runs on this host. */
    static Optional<String> sentence(Lease lease) {
        return switch (lease.claim().origin()) {
            case Origin.MesosTask _ when RunningAgent.all().isEmpty() ->
                    Optional.of(
                            "No Mesos agent runs on this host. Even if the task has ended, its"
                                    + " executor keeps the GPUs until the agent is back, or for the"
                                    + " agent's --recovery_timeout (15 minutes by default). If the"
                                    + " agent will not come back, root can end it with: kill "
                                    + lease.holder().process().pid());
            case Origin.MesosTask _,
                    Origin.DockerContainer _,
                    Origin.HostProcess _,
                    Origin.OciContainer _,
                    Origin.Pod _ ->
                    Optional.empty();
        };
    }
}
