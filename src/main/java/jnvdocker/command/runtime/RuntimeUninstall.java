package jnvdocker.command.runtime;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CallersFolder;
import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RunningContainers;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.Quote;
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
import java.util.stream.Collectors;

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

    @Option(names = "--complete", description = "Exit with 1 if a program has to stay.")
    private boolean complete;

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
        PrintWriter out = spec.commandLine().getOut();
        if (all.isEmpty()) {
            out.println("the OCI runtime is not installed for this engine");
        }
        boolean stays = false;
        for (Registration each : all) {
            Optional<String> need = uninstall(each, out);
            stays |= need.isPresent();
        }
        return (complete && stays ? ExitCode.WRONG : ExitCode.OK).code();
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

    /**
     * @return the reason why the program stays; empty when it does not
     */
    private Optional<String> uninstall(Registration registration, PrintWriter out)
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
        Optional<String> need = needs(registration);
        if (need.isPresent()) {
            out.println(registration.program() + " stays: " + need.get());
        } else if (dryRun) {
            out.println("would remove " + registration.program());
        } else {
            host.installer().removePrograms(registration);
            out.println("removed " + registration.program());
        }
        return need;
    }

    /** Returns why the program cannot be removed yet, and the remedy to type. */
    private Optional<String> needs(Registration registration) throws IOException, RefusedException {
        String again = "then 'jnvdocker runtime uninstall' again";
        if (registration.engine() == EngineKind.CDI) {
            // Running containers have their lease, and without the file no container starts that
            // needs the program.
            return Optional.empty();
        }
        if (registration.engine() != EngineKind.DOCKER) {
            return Files.exists(registration.program())
                    ? Optional.of(others(registration) + again)
                    : Optional.empty();
        }
        List<String> containers = host.containers(registration.name());
        if (!containers.isEmpty()) {
            return Optional.of(
                    "these containers need it: "
                            + names(containers, ", ")
                            + "; remove them when convenient (docker rm "
                            + names(containers, " ")
                            + "), "
                            + again);
        }
        // A reload does not make dockerd forget runtimes that its configuration no longer names.
        return host.runtimes()
                .map(EngineRuntimes::paths)
                .filter(paths -> paths.containsValue(registration.program().toString()))
                .map(_ ->
                        "the engine still has it; restart it when convenient (systemctl restart"
                                + " docker), "
                                + again);
    }

    /** Of engines that cannot be asked for the containers of a runtime. */
    private static String others(Registration registration) throws IOException, RefusedException {
        String engine = registration.engine().word();
        List<String> running = RunningContainers.of(registration);
        String remedy = "rm -r " + registration.folder() + ", ";
        return running.isEmpty()
                ? engine + " may have containers that need it; when there are none: " + remedy
                : "these containers need it: "
                        + names(running, ", ")
                        + "; when they are gone, and "
                        + engine
                        + " has no stopped ones of this runtime: "
                        + remedy;
    }

    private static String names(List<String> containers, String separator) {
        return containers.stream().map(Quote::shown).collect(Collectors.joining(separator));
    }
}
