package jnvdocker.command.runtime;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.holder.ContainerEngine.Listed;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.OwnConfig;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RuntimeHealth;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.upkeep.RuntimeNeeds;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
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
    public CommandOutcome call() throws IOException, RefusedException {
        Caller.refuseUnlessRoot(request, "remove an OCI runtime");
        List<Registration> all = wanted();
        boolean isEach = host.installer().registered().size() == all.size();
        if (all.isEmpty()) {
            print("the OCI runtime is not installed for this engine");
        }
        boolean isNone = isEach;
        for (Registration each : all) {
            isNone &= uninstall(each);
        }
        if (isNone) {
            removeOwnConfig();
        }
        return CommandOutcome.OK;
    }

    /** No engine has our runtime as its default any more: docker has it until it is restarted. */
    private void removeOwnConfig() throws IOException, RefusedException {
        OwnConfig own = new OwnConfig(host.config());
        if (dryRun && Files.exists(own.own())) {
            print("would remove " + own.own());
        } else if (!dryRun && own.removeOwn()) {
            print("removed " + own.own());
            host.reload().perform();
        }
    }

    private static String removal(
            String take, String leave, Registration registration, Map<String, Path> heirs) {
        String what = registration.engine() == EngineKind.CDI ? "devices" : "runtime";
        String named = "the %s '%s'".formatted(what, registration.name());
        return heirs.isEmpty()
                ? "%s %s out of %s".formatted(take, named, registration.config())
                : "%s %s in %s as %s, for containers that were made with it"
                        .formatted(
                                leave,
                                named,
                                registration.config(),
                                heirs.values().iterator().next());
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

    /** Returns whether docker, which builds images with its default, has ours no more. */
    private boolean uninstall(Registration registration) throws IOException, RefusedException {
        RuntimeNeeds needs = new RuntimeNeeds(host.engine());
        Map<String, Path> heirs = needs.heirs(registration, true);
        if (dryRun) {
            print("would " + removal("take", "leave", registration, heirs));
        } else if (host.installer().removeName(registration, heirs) || !heirs.isEmpty()) {
            print(removal("took", "left", registration, heirs));
        } else if (RuntimeHealth.isNamed(registration)) {
            print(
                    "left the runtime '%s' in %s; take it out when no container of it is left"
                            .formatted(registration.name(), registration.config()));
        }
        List<Listed> withGpus = heirs.isEmpty() ? List.of() : needs.withGpus(registration);
        if (!withGpus.isEmpty()) {
            print(
                    "these containers request GPUs, which they get no more: "
                            + RuntimeNeeds.names(withGpus, ", "));
        }
        Optional<Refusal> need = needs.of(registration);
        if (need.isPresent()) {
            String remedy = need.get().remedy().orElseThrow();
            String again = ", then 'jnvdocker runtime uninstall' again";
            print(
                    registration.program()
                            + " stays: "
                            + need.get().what()
                            + "; when convenient: "
                            + remedy
                            + (remedy.contains("runtime uninstall") ? "" : again));
        } else if (dryRun) {
            print("would remove " + registration.program());
        } else if (host.installer().removePrograms(registration)) {
            print("removed " + registration.program());
        }
        return need.isEmpty() || registration.engine() != EngineKind.DOCKER;
    }
}
