package jnvdocker.upkeep;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.holder.ContainerEngine.Listed;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RunningContainers;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Users of our OCI runtime's programs: containers, and engines that remember it. */
public final class RuntimeNeeds {
    private static final Duration LIMIT = Duration.ofSeconds(5);

    private final DockerEngine engine;

    public RuntimeNeeds(DockerEngine engine) {
        this.engine = engine;
    }

    /** Why a program cannot be removed yet, and a command; empty when it can. */
    public Optional<Refusal> of(Registration registration) throws IOException, RefusedException {
        List<Listed> containers = containers(registration);
        return containers.isEmpty()
                ? engine(registration)
                : Optional.of(
                        new Refusal(
                                "these containers need it: " + names(containers, ", "),
                                removal(containers)));
    }

    /** The containers of Docker that have the runtime, running or not. */
    List<Listed> containers(Registration registration) throws EngineException {
        return registration.engine() == EngineKind.DOCKER
                ? engine.ofRuntime(registration.name(), LIMIT)
                : List.of();
    }

    /** Why an engine still needs the program, whatever containers there are. */
    Optional<Refusal> engine(Registration registration) throws IOException, RefusedException {
        return switch (registration.engine()) {
            case DOCKER -> docker(registration);
            case PODMAN -> podman(registration);
            case CONTAINERD, CRIO ->
                    Files.exists(registration.program())
                            ? Optional.of(others(registration))
                            : Optional.empty();
            // Running containers have their lease, and without the file no container starts that
            // needs the program.
            case CDI -> Optional.empty();
        };
    }

    /** A reload does not make dockerd forget runtimes that its configuration no longer names. */
    private Optional<Refusal> docker(Registration registration) {
        try {
            return engine.facts(LIMIT)
                            .runtimes()
                            .paths()
                            .containsValue(registration.program().toString())
                    ? Optional.of(
                            new Refusal(
                                    "the engine has it until it is restarted",
                                    "jnvdocker runtime uninstall && systemctl restart docker"))
                    : Optional.empty();
        } catch (EngineException e) {
            // One that starts later reads its configuration then.
            return Optional.empty();
        }
    }

    /** A stopped container cannot start once the name is gone, and podman removes it without. */
    private static Optional<Refusal> podman(Registration registration)
            throws IOException, RefusedException {
        List<String> running =
                RunningContainers.of(registration).stream().map(Quote::shown).toList();
        return running.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        new Refusal(
                                "podman runs these containers with it: "
                                        + String.join(", ", running),
                                "stop them first: podman stop " + String.join(" ", running)));
    }

    /** The refusal for engines that cannot be queried for the containers of a runtime. */
    private static Refusal others(Registration registration) throws IOException, RefusedException {
        String word = registration.engine().word();
        List<String> running = RunningContainers.of(registration);
        return new Refusal(
                word
                        + "'s containers of this runtime must be removed first"
                        + (running.isEmpty()
                                ? ""
                                : "; these run: "
                                        + running.stream()
                                                .map(Quote::shown)
                                                .collect(Collectors.joining(", "))),
                "jnvdocker runtime uninstall --engine %s && rm -r %s"
                        .formatted(word, registration.directory()));
    }

    /** The command that removes containers, which must not run for that. */
    static String removal(List<Listed> containers) {
        List<Listed> running = containers.stream().filter(Listed::isActive).toList();
        return (running.isEmpty() ? "" : "docker stop " + names(running, " ") + " && ")
                + "docker rm "
                + names(containers, " ");
    }

    static String names(List<Listed> containers, String separator) {
        return containers.stream()
                .map(Listed::name)
                .map(Quote::shown)
                .collect(Collectors.joining(separator));
    }
}
