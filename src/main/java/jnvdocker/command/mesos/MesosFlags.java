package jnvdocker.command.mesos;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CallersFolder;
import jnvdocker.mesos.agent.AgentFlags;
import jnvdocker.mesos.agent.LauncherFolder;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;

@Command(
        name = "flags",
        description = {
            "Print the flags that this host's Mesos agent needs: the GPUs that its tasks can get,"
                    + " and what lets frameworks choose among agents.",
            "GPUs that are cordoned, faulty, missing or used without a lease are left out; a GPU"
                    + " that is held counts, since it will be free again."
        })
final class MesosFlags implements Callable<Integer> {
    /** Where the folder is laid out unless somebody says otherwise. */
    static final String FOLDER = "/usr/libexec/jnvdocker";

    private final AgentHost host;
    private final ClientRequest request;

    @Spec private CommandSpec spec;

    @Option(
            names = "--resources",
            paramLabel = "TEXT",
            defaultValue = "",
            description =
                    "The agent's other resources, name(role):value;..., which are kept. A gpus:N"
                            + " there must be the number of GPUs to offer.")
    private String resources;

    @Option(
            names = "--nvidia_gpu_devices",
            paramLabel = "INDICES",
            description =
                    "Offer only these GPUs, as in 0,2; gpus:N in --resources says how many. The"
                            + " default is mesos_gpus of the configuration, else all.")
    private String devices;

    @Option(
            names = "--uuids",
            description =
                    "Offer GPUs by name, as the set gpu_uuids:{...} instead of gpus:N: tasks then"
                            + " ask for certain GPUs, by UUID, and cannot ask for a number.")
    private boolean uuids;

    @Option(
            names = "--isolation",
            paramLabel = "NAMES",
            description = "The agent's isolators; those needed for GPUs are added.")
    private String isolation;

    @Option(
            names = "--launcher_dir",
            paramLabel = "DIR",
            defaultValue = FOLDER,
            description = "What 'jnvdocker mesos install' has laid out; ${DEFAULT-VALUE}.")
    private String launcherDir;

    MesosFlags(AgentHost host, ClientRequest request) {
        this.host = host;
        this.request = request;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        Path folder = CallersFolder.of(launcherDir, request, spec);
        AgentFlags flags =
                host.flags(
                        new AgentFlags.Wanted(
                                resources,
                                Optional.ofNullable(devices),
                                Optional.ofNullable(isolation),
                                folder,
                                uuids));
        flags.remarks().forEach(this::remark);
        // Others can't mend it, and have no business to look into root's folders by us.
        if (Caller.isRoot(request) && !new LauncherFolder(folder).isLaidOut()) {
            remark(
                    "nothing is installed in "
                            + folder
                            + " yet: jnvdocker mesos install --launcher-dir "
                            + folder
                            + " --mesos-libexec /usr/libexec/mesos");
        }
        flags.lines().forEach(spec.commandLine().getOut()::println);
        return ExitCode.OK.code();
    }

    private void remark(String text) {
        spec.commandLine().getErr().println("jnvdocker: " + text);
    }
}
