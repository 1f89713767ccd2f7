package jnvdocker.command.mesos;

import jnvdocker.command.caller.Caller;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.mesos.launch.LaunchInfo;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * {@code mesos launch-task}: a command executor is about to launch its task, whose own search paths
 * have replaced by then what the executor was told for it.
 */
public final class MesosTaskLaunch {
    static final String WORD = "launch-task";

    private final ServedVolumes volumes;
    private final Processes processes = Processes.ofThisMachine();

    public MesosTaskLaunch(ServedVolumes volumes) {
        this.volumes = volumes;
    }

    /**
     * @param words the last one is the launch info; nothing is said when that may stay as it is
     */
    void run(List<String> words, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        MesosLaunch.refuseOthersThanAgents(request);
        MesosLaunch.refuseUnless(words.size() == 2);
        LaunchInfo info = LaunchInfo.parse(words.get(1));
        Map<String, String> added = ContainerPlanner.searchPaths(info.environment(), Set.of());
        if (!added.isEmpty() && volumes.isGiven(Caller.process(request), processes)) {
            info.setEnvironment(added);
            client.print(info.toString());
        }
        client.exit(ExitCode.OK);
    }
}
