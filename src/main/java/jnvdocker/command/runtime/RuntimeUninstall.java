package jnvdocker.command.runtime;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CallersFolder;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.OwnConfig;
import jnvdocker.oci.install.Registration;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.upkeep.RuntimeNeeds;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;

@Command(
        name = "uninstall",
        description = {
            "Remove jnvdocker's OCI runtime from the engines' configurations (root only).",
            "The program stays as long as an engine needs it: removing it would break running"
                    + " containers; run this again later."
        })
final class RuntimeUninstall implements Callable<Integer> {
    private final RuntimeHost host;
    private final ClientRequest request;

    @Spec private CommandSpec spec;

    @Option(
            names = "--engine",
            paramLabel = "ENGINE",
            description = "Only from this engine: docker, podman, containerd, crio or cdi.")
    private String engine;

    @Option(names = "--config", paramLabel = "FILE", description = "Only from this configuration.")
    private String config;

    @Option(names = "--dry-run", description = "Print what would be done, and change nothing.")
    private boolean dryRun;

    RuntimeUninstall(RuntimeHost host, ClientRequest request) {
        this.host = host;
        this.request = request;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        Caller.refuseUnlessRoot(request, "remove an OCI runtime");
        List<Registration> all = wanted();
        boolean isEach = host.installer().registered().size() == all.size();
        PrintWriter out = spec.commandLine().getOut();
        if (all.isEmpty()) {
            out.println("the OCI runtime is not installed for this engine");
        }
        for (Registration each : all) {
            uninstall(each, out);
        }
        if (isEach) {
            removeOwnConfig(out);
        }
        return ExitCode.OK.code();
    }

    /** No engine has our runtime as its default any more. */
    private void removeOwnConfig(PrintWriter out) throws IOException, RefusedException {
        OwnConfig own = new OwnConfig(host.config());
        if (dryRun && Files.exists(own.own())) {
            out.println("would remove " + own.own());
        } else if (!dryRun && own.removeOwn()) {
            out.println("removed " + own.own());
            host.reload().perform();
        }
    }

    private List<Registration> wanted() throws IOException, RefusedException {
        Optional<EngineKind> kind =
                Optional.ofNullable(engine).map(word -> EngineWord.parse(word, spec));
        Optional<Path> file =
                Optional.ofNullable(config).map(text -> CallersFolder.of(text, request, spec));
        return host.installer().registered().stream()
                .filter(each -> kind.isEmpty() || kind.get() == each.engine())
                .filter(each -> file.isEmpty() || file.get().equals(each.config()))
                .toList();
    }

    private void uninstall(Registration registration, PrintWriter out)
            throws IOException, RefusedException {
        String named =
                (registration.engine() == EngineKind.CDI ? "the devices '" : "the runtime '")
                        + registration.name()
                        + "'";
        if (dryRun) {
            out.println("would take " + named + " out of " + registration.config());
        } else if (host.installer().removeName(registration)) {
            out.println("took " + named + " out of " + registration.config());
        }
        Optional<Refusal> need = new RuntimeNeeds(host.engine()).of(registration);
        if (need.isPresent()) {
            out.println(
                    registration.program()
                            + " stays: "
                            + need.get().what()
                            + "; when convenient: "
                            + need.get().remedy().orElseThrow()
                            + ", then 'jnvdocker runtime uninstall' again");
        } else if (dryRun) {
            out.println("would remove " + registration.program());
        } else if (host.installer().removePrograms(registration)) {
            out.println("removed " + registration.program());
        }
    }
}
