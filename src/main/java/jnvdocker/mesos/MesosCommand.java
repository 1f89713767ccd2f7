package jnvdocker.mesos;

import jnvdocker.command.caller.CommandGroup;
import jnvdocker.command.caller.Installation;
import jnvdocker.command.caller.OwnCommands;
import jnvdocker.mesos.agent.AgentHost;
import jnvdocker.mesos.agent.InstalledDirectories;
import jnvdocker.mesos.agent.LauncherDirectory;
import jnvdocker.mesos.agent.MesosFlags;
import jnvdocker.mesos.agent.MesosInstall;
import jnvdocker.mesos.launch.MesosLaunch;
import jnvdocker.mesos.launch.MesosTaskLaunch;
import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import picocli.CommandLine;
import picocli.CommandLine.Command;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** {@code jnvdocker mesos …}: lets the tasks of a Mesos agent get GPUs from us. */
public final class MesosCommand implements OwnCommands {
    private static final Logger LOG = LoggerFactory.getLogger(MesosCommand.class);

    private final AgentHost host;
    private final Installation installation;
    private final Path socket;
    private final MesosLaunch launch;
    private final MesosTaskLaunch taskLaunch;

    /**
     * @param socket the daemon's
     * @param launch answers our mesos-containerizer about a container
     * @param taskLaunch answers it about a task in a container
     */
    public MesosCommand(
            AgentHost host,
            Installation installation,
            Path socket,
            MesosLaunch launch,
            MesosTaskLaunch taskLaunch) {
        this.host = host;
        this.installation = installation;
        this.socket = socket;
        this.launch = launch;
        this.taskLaunch = taskLaunch;
    }

    @Command(
            name = "jnvdocker mesos",
            description = "Give this host's Mesos tasks GPUs through jnvdocker.",
            synopsisSubcommandLabel = "COMMAND")
    private static final class Mesos extends CommandGroup.Root {}

    /** After an upgrade: replaces our programs where they were installed for an agent. */
    public void refresh() {
        try {
            Optional<InstalledDirectories> directories =
                    InstalledDirectories.read(installation.state());
            if (directories.isPresent()
                    && new LauncherDirectory(directories.get().launcherDir())
                            .renew(
                                    directories.get().libexec(),
                                    installation.tree().resolve("lib/mesos"),
                                    socket)) {
                LOG.info("updated {} to this version", directories.get().launcherDir());
            }
        } catch (RefusedException e) {
            LOG.warn("the installed Mesos hook stays as it is: {}", e.getMessage());
        } catch (IOException e) {
            LOG.warn("the installed Mesos hook stays as it is: {}", FileErrors.describe(e));
        }
    }

    @Override
    public String name() {
        return "mesos";
    }

    @Override
    public void run(List<String> arguments, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        switch (arguments.isEmpty() ? "" : arguments.getFirst()) {
            case MesosLaunch.WORD -> launch.run(arguments, request, client);
            case MesosTaskLaunch.WORD, MesosTaskLaunch.SESSION ->
                    taskLaunch.run(arguments, request, client);
            default -> CommandGroup.execute(commands(request, client), arguments, client);
        }
    }

    @Override
    public CommandLine commands(ClientRequest request, ClientConnection client) {
        CommandLine mesos =
                new CommandLine(new Mesos())
                        .addSubcommand(new MesosInstall(host, installation, socket, request))
                        .addSubcommand(new MesosFlags(host, installation.state(), request));
        return CommandGroup.of(mesos, request);
    }
}
