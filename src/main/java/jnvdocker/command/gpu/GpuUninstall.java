package jnvdocker.command.gpu;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.Installation;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.upkeep.Uninstall;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

@Command(
        name = "uninstall",
        description = {
            "Remove all of jnvdocker's volumes from the Docker engine, then stop the daemon (root"
                    + " only).",
            "Otherwise the engine would wait for jnvdocker at each start."
        })
final class GpuUninstall implements Callable<Integer> {
    private final Uninstall uninstall;
    private final Installation installation;
    private final ClientRequest request;
    private boolean done;

    @Spec private CommandSpec spec;

    @Option(
            names = "--remove-containers",
            description =
                    "Also remove stopped containers that have such volumes: they cannot be started"
                            + " without jnvdocker.")
    private boolean removeContainers;

    GpuUninstall(Uninstall uninstall, Installation installation, ClientRequest request) {
        this.uninstall = uninstall;
        this.installation = installation;
        this.request = request;
    }

    /** Whether all is done but stopping the daemon. */
    boolean isDone() {
        return done;
    }

    @Override
    public Integer call() throws RefusedException {
        Caller.refuseUnlessRoot(request, "uninstall jnvdocker");
        Uninstall.Removed removed = uninstall.run(removeContainers);
        done = true;
        PrintWriter out = spec.commandLine().getOut();
        tell(out, "containers", removed.containers());
        tell(out, "volumes", removed.volumes());
        out.println("the daemon stops; remove the rest yourself:");
        installation.leftByHand().forEach(command -> out.println("    " + command));
        return ExitCode.OK.code();
    }

    private static void tell(PrintWriter out, String what, List<String> names) {
        if (!names.isEmpty()) {
            out.println(
                    "removed the "
                            + what
                            + " "
                            + names.stream().map(Quote::shown).collect(Collectors.joining(", ")));
        }
    }
}
