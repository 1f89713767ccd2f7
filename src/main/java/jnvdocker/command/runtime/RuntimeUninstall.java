package jnvdocker.command.runtime;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.OwnConfig;
import jnvdocker.oci.install.Registration;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.upkeep.RuntimeNeeds;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

@Command(
        name = "uninstall",
        description = {
            "Remove jnvdocker's OCI runtime from the engines' configurations (root only).",
            "The program stays as long as an engine needs it: removing it would break running"
                    + " containers; run this again later."
        })
final class RuntimeUninstall extends OwnCommand {
    private final RuntimeHost host;
    private final ClientRequest request;

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
        if (all.isEmpty()) {
            print("the OCI runtime is not installed for this engine");
        }
        for (Registration each : all) {
            uninstall(each);
        }
        if (isEach) {
            removeOwnConfig();
        }
        return ExitCode.OK.code();
    }

    /** No engine has our runtime as its default any more. */
    private void removeOwnConfig() throws IOException, RefusedException {
        OwnConfig own = new OwnConfig(host.config());
        if (dryRun && Files.exists(own.own())) {
            print("would remove " + own.own());
        } else if (!dryRun && own.removeOwn()) {
            print("removed " + own.own());
            host.reload().perform();
        }
    }

    private List<Registration> wanted() throws IOException, RefusedException {
        Optional<EngineKind> kind =
                Optional.ofNullable(engine).map(word -> EngineWord.parse(word, this));
        Optional<Path> file = Optional.ofNullable(config).map(text -> directory(text, request));
        return host.installer().registered().stream()
                .filter(each -> kind.isEmpty() || kind.get() == each.engine())
                .filter(each -> file.isEmpty() || file.get().equals(each.config()))
                .toList();
    }

    private void uninstall(Registration registration) throws IOException, RefusedException {
        String named =
                (registration.engine() == EngineKind.CDI ? "the devices '" : "the runtime '")
                        + registration.name()
                        + "'";
        if (dryRun) {
            print("would take " + named + " out of " + registration.config());
        } else if (host.installer().removeName(registration)) {
            print("took " + named + " out of " + registration.config());
        }
        Optional<Refusal> need = new RuntimeNeeds(host.engine()).of(registration);
        if (need.isPresent()) {
            print(
                    registration.program()
                            + " stays: "
                            + need.get().what()
                            + "; when convenient: "
                            + need.get().remedy().orElseThrow()
                            + ", then 'jnvdocker runtime uninstall' again");
        } else if (dryRun) {
            print("would remove " + registration.program());
        } else if (host.installer().removePrograms(registration)) {
            print("removed " + registration.program());
        }
    }
}
