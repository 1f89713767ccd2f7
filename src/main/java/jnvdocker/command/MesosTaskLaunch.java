package jnvdocker.command;

import jnvdocker.container.ContainerPlanner;
import jnvdocker.labels.RefusedException;
import jnvdocker.mesos.LaunchInfo;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ExitCode;
import jnvdocker.protocol.Request;
import jnvdocker.volume.DriverVolumeStore;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * {@code mesos launch-task}: a command executor is about to launch its task, whose own search paths
 * have replaced by then what the executor was told for it.
 */
public final class MesosTaskLaunch {
    static final String WORD = "launch-task";

    private final DriverVolumeStore volumes;
    private final Processes processes = Processes.ofThisMachine();
    private volatile Optional<Pattern> driverFolders = Optional.empty();

    public MesosTaskLaunch(DriverVolumeStore volumes) {
        this.volumes = volumes;
    }

    /**
     * @param words the last one is the launch info; nothing is said when that may stay as it is
     */
    void run(List<String> words, Request request, ClientConnection client)
            throws IOException, RefusedException {
        MesosLaunch.refuseOthersThanAgents(request);
        MesosLaunch.refuseUnless(words.size() == 2);
        LaunchInfo info = LaunchInfo.parse(words.get(1));
        Map<String, String> added = ContainerPlanner.searchPaths(info.environment(), Set.of());
        if (!added.isEmpty() && hasDriver(request)) {
            info.setEnvironment(added);
            client.print(info.toString());
        }
        client.exit(ExitCode.OK);
    }

    /** Whoever sees our folder of the driver was given it. */
    private boolean hasDriver(Request request) throws RefusedException {
        Optional<Pattern> folders = folders();
        return folders.isPresent()
                && !processes.mounted(Caller.process(request), folders.get()).isEmpty();
    }

    /** Where they are does not change, once they are there. */
    private Optional<Pattern> folders() {
        if (driverFolders.isEmpty()) {
            driverFolders =
                    processes
                            .mountRoot(volumes.root())
                            .map(root -> Pattern.compile(Pattern.quote(root) + "/([^/]+)"));
        }
        return driverFolders;
    }
}
