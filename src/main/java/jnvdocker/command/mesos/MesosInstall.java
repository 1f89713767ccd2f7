package jnvdocker.command.mesos;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CallersFolder;
import jnvdocker.command.caller.Installation;
import jnvdocker.mesos.agent.AgentFlags;
import jnvdocker.mesos.agent.LauncherFolder;
import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;

@Command(
        name = "install",
        description = {
            "Create the folder for a Mesos agent's --launcher_dir: our mesos-containerizer, and"
                    + " links to the agent's own helpers (root only).",
            "Run it again after each upgrade of jnvdocker or Mesos, even while the agent runs."
        })
final class MesosInstall implements Callable<Integer> {
    private final AgentHost host;
    private final Installation installation;
    private final Path socket;
    private final ClientRequest request;

    @Spec private CommandSpec spec;

    @Option(
            names = "--launcher-dir",
            paramLabel = "DIR",
            required = true,
            description = "The folder to lay out, such as " + MesosFlags.FOLDER + ".")
    private String launcherDir;

    @Option(
            names = "--mesos-libexec",
            paramLabel = "DIR",
            required = true,
            description = "The agent's own helpers, often in /usr/libexec/mesos.")
    private String libexec;

    /**
     * @param socket where the daemon is asked
     */
    MesosInstall(AgentHost host, Installation installation, Path socket, ClientRequest request) {
        this.host = host;
        this.installation = installation;
        this.socket = socket;
        this.request = request;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        Caller.refuseUnlessRoot(request, "lay out a Mesos agent's folder", "mesos install");
        Path folder = CallersFolder.of(launcherDir, request, spec);
        Path agents = CallersFolder.of(libexec, request, spec);
        List<String> linked =
                new LauncherFolder(folder)
                        .layOut(agents, installation.tree().resolve("lib/mesos"), socket);
        PrintWriter out = spec.commandLine().getOut();
        out.println("laid out " + folder + ", with links to " + linked.size() + " in " + agents);
        out.println("start the agent with:");
        flags(folder).forEach(line -> out.println("    " + line));
        out.println(
                "and restart it, whose tasks go on; one that says 'Incompatible agent info' needs"
                        + " --reconfiguration_policy=additive, too");
        return ExitCode.OK.code();
    }

    /** The folder is laid out, whatever there is to say of the GPUs now. */
    private List<String> flags(Path folder) {
        try {
            AgentFlags flags = host.flags(AgentFlags.Wanted.standard(folder));
            flags.remarks().forEach(this::remark);
            return flags.lines();
        } catch (RefusedException e) {
            return launcherDirOnly(folder, e.getMessage());
        } catch (IOException e) {
            return launcherDirOnly(folder, FileErrors.describe(e));
        }
    }

    private List<String> launcherDirOnly(Path folder, String why) {
        remark("the flags about GPUs are for 'jnvdocker mesos flags' to say later: " + why);
        return List.of("--launcher_dir=" + folder);
    }

    private void remark(String text) {
        spec.commandLine().getErr().println("jnvdocker: " + text);
    }
}
