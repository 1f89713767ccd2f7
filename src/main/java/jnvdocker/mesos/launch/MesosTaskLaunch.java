package jnvdocker.mesos.launch;

import jnvdocker.command.caller.Caller;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The search paths of programs that are started in a container with the driver:
 *
 * <ul>
 *   <li>{@code mesos launch-task}: a command executor launches its task, and the task's own search
 *       paths have replaced those that the executor got for it.
 *   <li>{@code mesos launch-session}: a health check or a session enters the container, with the
 *       environment of the image and the task only.
 * </ul>
 */
public final class MesosTaskLaunch {
    public static final String WORD = "launch-task";
    public static final String SESSION = "launch-session";

    private final ServedVolumes volumes;
    private final Processes processes = Processes.ofThisMachine();

    public MesosTaskLaunch(ServedVolumes volumes) {
        this.volumes = volumes;
    }

    /**
     * @param words the last one is the launch info, which is printed only if it changes; for a
     *     session, the word before is a process in the container
     */
    public void run(List<String> words, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        MesosLaunch.refuseOthersThanAgents(request);
        boolean session = words.getFirst().equals(SESSION);
        MesosLaunch.refuseUnless(words.size() == (session ? 3 : 2));
        Optional<ProcessId> process =
                session ? find(words.get(1)) : Optional.of(Caller.process(request));
        LaunchInfo info = LaunchInfo.parse(words.getLast());
        Map<String, String> added = ContainerPlanner.searchPaths(info.environment(), Set.of());
        if (!added.isEmpty() && process.filter(it -> volumes.isGiven(it, processes)).isPresent()) {
            info.setEnvironment(added);
            client.print(info.toString());
        }
        client.exit(ExitCode.OK);
    }

    private Optional<ProcessId> find(String pid) throws RefusedException {
        MesosLaunch.refuseUnless(pid.matches("[0-9]{1,9}"));
        return processes.find(Integer.parseInt(pid));
    }
}
