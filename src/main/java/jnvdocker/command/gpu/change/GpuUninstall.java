package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.Installation;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.upkeep.Uninstall;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;

@Command(
        name = "uninstall",
        description = {
            "Remove all of jnvdocker's volumes and its OCI runtime from the engines, then stop the"
                    + " daemon (root only).",
            "A Docker engine that still has them would wait for jnvdocker at each start."
        })
public final class GpuUninstall extends OwnCommand {
    private final Uninstall uninstall;
    private final Installation installation;
    private final Supplier<List<Refusal>> others;
    private final ClientRequest request;

    @Option(
            names = "--remove-containers",
            description =
                    "Also remove stopped containers that have such volumes: they cannot be started"
                            + " without jnvdocker.")
    private boolean removeContainers;

    @Option(
            names = "--without-engine",
            description = "Query no Docker engine, on a host without one.")
    private boolean withoutEngine;

    /** Whether a package manager calls, which does the rest. */
    @Option(names = "--packaged", hidden = true)
    private boolean packaged;

    /**
     * @param others what else needs jnvdocker, each with what to do about it
     */
    public GpuUninstall(
            Uninstall uninstall,
            Installation installation,
            Supplier<List<Refusal>> others,
            ClientRequest request) {
        this.uninstall = uninstall;
        this.installation = installation;
        this.others = others;
        this.request = request;
    }

    @Override
    public CommandOutcome call() throws RefusedException {
        Caller.refuseUnlessRoot(request, "uninstall jnvdocker");
        List<Refusal> needed = others.get();
        if (!needed.isEmpty()) {
            print(needed);
            return new CommandOutcome.Exit(ExitCode.REFUSED);
        }
        Uninstall.Wish wish = new Uninstall.Wish(removeContainers, !withoutEngine);
        Uninstall.Outcome done = uninstall.run(wish);
        if (!done.obstacles().isEmpty()) {
            print(done.obstacles());
            return new CommandOutcome.Exit(ExitCode.REFUSED);
        }
        report("container", done.removed().containers());
        report("volume", done.removed().volumes());
        List<String> left = installation.leftByHand(packaged, wish.engine());
        print("the daemon stops" + (left.isEmpty() ? "" : "; do the rest yourself:"));
        left.forEach(command -> print("    " + command));
        return new CommandOutcome.StopDaemon();
    }

    /** Reports all obstacles at once. */
    private void print(List<Refusal> obstacles) {
        warn("jnvdocker: not uninstalled, since it is needed; do this first:");
        for (Refusal obstacle : obstacles) {
            warn("  " + obstacle.what() + ":");
            warn("    " + obstacle.remedy().orElseThrow());
        }
    }

    private void report(String what, List<String> names) {
        if (!names.isEmpty()) {
            print(
                    "removed the "
                            + what
                            + (names.size() == 1 ? " " : "s ")
                            + names.stream().map(Quote::shown).collect(Collectors.joining(", ")));
        }
    }
}
