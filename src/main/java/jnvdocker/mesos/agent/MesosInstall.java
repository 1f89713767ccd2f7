package jnvdocker.mesos.agent;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.Installation;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

@Command(
        name = "install",
        description = {
            "Create the directory for a Mesos agent's --launcher_dir: our mesos-containerizer, and"
                    + " links to the agent's own helpers (root only).",
            "Run it again after each upgrade of Mesos, even while the agent runs. It"
                    + " remembers both directories."
        })
public final class MesosInstall extends OwnCommand {
    private final AgentHost host;
    private final Installation installation;
    private final Path socket;
    private final ClientRequest request;

    @Option(
            names = {"--launcher-dir", "--launcher_dir"},
            paramLabel = "DIR",
            description =
                    "The directory to create. The default is the last one, else"
                            + " /usr/libexec/jnvdocker.")
    private String launcherDir;

    @Option(
            names = {"--mesos-libexec", "--mesos_libexec"},
            paramLabel = "DIR",
            description =
                    "The directory of the agent's own helpers. The default is the last one, else"
                            + " /usr/libexec/mesos.")
    private String libexec;

    /**
     * @param socket the daemon's
     */
    public MesosInstall(
            AgentHost host, Installation installation, Path socket, ClientRequest request) {
        this.host = host;
        this.installation = installation;
        this.socket = socket;
        this.request = request;
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        Caller.refuseUnlessRoot(request, "install jnvdocker for a Mesos agent");
        InstalledDirectories directories = directories();
        Path directory = directories.launcherDir();
        LauncherDirectory.LaidOut laidOut =
                new LauncherDirectory(directory)
                        .layOut(
                                directories.libexec(),
                                installation.tree().resolve("lib/mesos"),
                                socket);
        directories.write(installation.state());
        for (Path link : laidOut.dangling()) {
            remark(
                    "skipped "
                            + link
                            + ", a link to "
                            + Files.readSymbolicLink(link)
                            + ", which does not exist; if the agent needs it, install that and run"
                            + " this again");
        }
        print(
                "created %s with links to %s programs in %s"
                        .formatted(directory, laidOut.linked().size(), directories.libexec()));
        print("start the agent with:");
        flags(directory).forEach(line -> print("    " + line));
        print(
                "restart it with these flags; its tasks go on. If it exits with 'Incompatible agent"
                        + " info', add --reconfiguration_policy=additive; for other causes, see"
                        + " 'jnvdocker mesos flags --help'");
        print(AgentFlags.NO_DOCKER);
        return CommandOutcome.OK;
    }

    private InstalledDirectories directories() throws RefusedException, IOException {
        if (launcherDir != null && libexec != null) {
            return new InstalledDirectories(
                    directory(launcherDir, request), directory(libexec, request));
        }
        InstalledDirectories last =
                InstalledDirectories.read(installation.state()).orElse(InstalledDirectories.USUAL);
        return new InstalledDirectories(
                launcherDir == null ? last.launcherDir() : directory(launcherDir, request),
                libexec == null ? last.libexec() : directory(libexec, request));
    }

    /** The directory is complete, whatever the state of the GPUs. */
    private List<String> flags(Path directory) {
        try {
            AgentFlags flags = host.flags(AgentFlags.Wanted.standard(directory));
            flags.remarks().forEach(this::remark);
            return flags.lines();
        } catch (IOException e) {
            return launcherDirOnly(directory, FileErrors.describe(e));
        }
    }

    private List<String> launcherDirOnly(Path directory, String why) {
        remark("run 'jnvdocker mesos flags' later for the flags about GPUs: " + why);
        return List.of("--launcher_dir=" + directory);
    }

    private void remark(String text) {
        warn("jnvdocker: " + text);
    }
}
