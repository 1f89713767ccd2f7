package jnvdocker.mesos.agent;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

@Command(
        name = "flags",
        description = {
            "Print the flags that this host's Mesos agent needs: the GPUs that its tasks can get"
                    + " (mesos.gpus in the configuration), and the directory that 'jnvdocker mesos"
                    + " install' created. Mesos itself checks them.",
            "GPUs that are cordoned, faulty, missing or used without a lease are left out; a GPU"
                    + " that is held counts, since it will be free again."
        },
        footer = {
            "",
            "An agent does not start with fewer GPUs than before, nor with a changed attribute"
                + " ('Incompatible agent info'), not even with --reconfiguration_policy=additive."
                + " Then drain the agent, stop it, remove the link meta/slaves/latest in its"
                + " --work_dir, and start it: it registers as a new agent, and tasks that still run"
                + " are lost. To keep them running for now, start the agent with the old number of"
                + " GPUs; a task that finds none free fails after mesos.wait.",
            "Leave docker out of the agent's --containerizers: otherwise an agent with these flags"
                    + " exits at startup on a host with NVML."
        })
public final class MesosFlags extends OwnCommand {
    private final AgentHost host;
    private final Path state;
    private final ClientRequest request;

    @Option(
            names = "--resources",
            paramLabel = "TEXT",
            defaultValue = "",
            description =
                    "The agent's other resources, name(role):value;..., to which the GPUs are"
                            + " added.")
    private String resources;

    @Option(
            names = "--uuids",
            description =
                    "Offer GPUs by name, as the set gpu_uuids:{...} instead of gpus:N: tasks then"
                            + " request certain GPUs, by UUID, and cannot request a number.")
    private boolean uuids;

    @Option(
            names = "--attributes",
            paramLabel = "TEXT",
            arity = "0..1",
            fallbackValue = "",
            description =
                    "Print --attributes, too: the agent's other attributes, name:value;..., and"
                            + " nvidia_driver, nvidia_cuda and nvidia_gpu. They change with each"
                            + " driver upgrade.")
    private String attributes;

    @Option(
            names = "--isolation",
            paramLabel = "NAMES",
            description = "The agent's isolators; those needed for GPUs are added.")
    private String isolation;

    @Option(
            names = {"--launcher-dir", "--launcher_dir"},
            paramLabel = "DIR",
            description =
                    "The directory that 'jnvdocker mesos install' created. The default is the last"
                            + " one, else /usr/libexec/jnvdocker.")
    private String launcherDir;

    /**
     * @param state the directory in which {@code mesos install} keeps its settings
     */
    public MesosFlags(AgentHost host, Path state, ClientRequest request) {
        this.host = host;
        this.state = state;
        this.request = request;
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        Path directory =
                launcherDir == null
                        ? InstalledDirectories.read(state)
                                .orElse(InstalledDirectories.USUAL)
                                .launcherDir()
                        : directory(launcherDir, request);
        AgentFlags flags =
                host.flags(
                        new AgentFlags.Wanted(
                                resources,
                                Optional.ofNullable(attributes),
                                Optional.ofNullable(isolation),
                                directory,
                                uuids));
        flags.remarks().forEach(this::remark);
        remark(AgentFlags.NO_DOCKER);
        // Only root can fix it, and no other user may inspect root's directories through us.
        if (Caller.isRoot(request) && !new LauncherDirectory(directory).isLaidOut()) {
            remark(
                    directory
                            + " does not have jnvdocker's mesos-containerizer yet; run 'jnvdocker"
                            + " mesos install --launcher-dir "
                            + directory
                            + " --mesos-libexec /usr/libexec/mesos'");
        }
        flags.lines().forEach(this::print);
        return CommandOutcome.OK;
    }

    private void remark(String text) {
        warn("jnvdocker: " + text);
    }
}
