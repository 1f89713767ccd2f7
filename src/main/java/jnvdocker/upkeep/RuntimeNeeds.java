package jnvdocker.upkeep;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.holder.ContainerEngine.Listed;
import jnvdocker.lease.Claim;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RunningDockerd;
import jnvdocker.oci.install.RuntimeHealth;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.oci.install.RuntimeProgram;
import jnvdocker.oci.install.RuntimeUsers;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Users of our OCI runtime's programs: containers, and engines that remember it. */
public final class RuntimeNeeds {
    private static final Duration LIMIT = Duration.ofSeconds(5);

    private final DockerEngine engine;

    public RuntimeNeeds(DockerEngine engine) {
        this.engine = engine;
    }

    /**
     * The programs that have names of ours after it, for the containers of docker that were made
     * with these names: without GPUs the containers need nothing of ours.
     *
     * @param isAsked false if the engine cannot be queried, so that there may be such containers
     */
    public Map<String, Path> heirs(Registration registration, boolean isAsked)
            throws IOException, RefusedException {
        Map<String, Path> heirs = new TreeMap<>();
        Optional<Path> real =
                RuntimeProgram.read(registration.program()).map(RuntimeProgram.Settings::real);
        if (registration.engine() == EngineKind.DOCKER && real.isPresent()) {
            for (String name : RuntimeInstaller.names(registration)) {
                if (!isAsked || mayHaveContainers(registration, name)) {
                    heirs.put(name, real.get());
                }
            }
        }
        return heirs;
    }

    /** True as well for another dockerd than the one that can be queried. */
    private boolean mayHaveContainers(Registration registration, String name) {
        try {
            return !isQueried(registration) || !engine.objects().ofRuntime(name, LIMIT).isEmpty();
        } catch (EngineException e) {
            return true;
        }
    }

    private boolean isQueried(Registration registration) {
        return RunningDockerd.at(engine.socket())
                .filter(dockerd -> dockerd.reads(registration.config()))
                .isPresent();
    }

    /** The containers of docker that request GPUs, which they get of our runtime alone. */
    public List<Listed> withGpus(Registration registration) throws IOException, RefusedException {
        List<Listed> all = new ArrayList<>();
        if (registration.engine() == EngineKind.DOCKER && isQueried(registration)) {
            for (String name : names(registration)) {
                all.addAll(engine.objects().withGpus(name, LIMIT));
            }
        }
        return all;
    }

    private static Set<String> names(Registration registration)
            throws IOException, RefusedException {
        Set<String> names = new TreeSet<>(RuntimeInstaller.names(registration));
        names.add(registration.name());
        return names;
    }

    /** Why a program cannot be removed yet, and a command; empty when it can. */
    public Optional<Refusal> of(Registration registration) throws IOException, RefusedException {
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

    private Optional<Refusal> docker(Registration registration)
            throws IOException, RefusedException {
        RuntimeUsers.Tasks tasks = RuntimeUsers.ofDocker(registration.program());
        Map<String, String> running = new TreeMap<>();
        tasks.with().forEach(id -> running.put(id, Claim.shortId(id)));
        boolean isQueried = isQueried(registration);
        try {
            if (hasLoaded(registration, isQueried)) {
                return Optional.of(
                        new Refusal(
                                "the engine has it until it is restarted",
                                (RuntimeHealth.hasOurs(registration)
                                                ? "jnvdocker runtime uninstall && "
                                                : "")
                                        + "systemctl restart docker"));
            }
            for (Listed each : isQueried ? all(registration) : List.<Listed>of()) {
                if (each.isActive()
                        && !each.isRestarting()
                        && !tasks.without().contains(each.id())) {
                    running.put(each.id(), Quote.shown(each.name()));
                }
            }
        } catch (EngineException e) {
            // One that starts later reads its configuration then.
            if (!RunningDockerd.reading(registration.config()).isEmpty()) {
                return Optional.of(e.refusal());
            }
        }
        String names = String.join(" ", running.values());
        return running.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        new Refusal(
                                "these containers run with it, or may: "
                                        + String.join(", ", running.values()),
                                "docker stop %1$s && jnvdocker runtime uninstall && docker start %1$s"
                                        .formatted(names)));
    }

    /** A reload does not make dockerd forget runtimes that its configuration no longer names. */
    private boolean hasLoaded(Registration registration, boolean isQueried)
            throws IOException, EngineException {
        String program = registration.program().toString();
        if (isQueried || RunningDockerd.reading(registration.config()).isEmpty()) {
            return engine.facts(LIMIT).runtimes().paths().containsValue(program);
        }
        for (RunningDockerd each : RunningDockerd.reading(registration.config())) {
            if (each.isOlder(registration.config())) {
                return true;
            }
        }
        return false;
    }

    private List<Listed> all(Registration registration) throws IOException, RefusedException {
        List<Listed> all = new ArrayList<>();
        for (String name : names(registration)) {
            all.addAll(engine.objects().ofRuntime(name, LIMIT));
        }
        return all;
    }

    /** A stopped container cannot start once the name is gone, and podman removes it without. */
    private static Optional<Refusal> podman(Registration registration)
            throws IOException, RefusedException {
        List<String> running = RuntimeUsers.of(registration).stream().map(Quote::shown).toList();
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
        List<String> running = RuntimeUsers.of(registration);
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

    /**
     * The command that removes containers, which must not run for that. The engine removes some as
     * soon as they are stopped.
     */
    String removal(List<Listed> containers) throws EngineException {
        List<Listed> running = containers.stream().filter(Listed::isActive).toList();
        List<Listed> stay = new ArrayList<>(containers);
        for (Listed each : running) {
            if (engine.objects().isRemovedAtItsEnd(each.id(), LIMIT)) {
                stay.remove(each);
            }
        }
        List<String> commands = new ArrayList<>();
        if (!running.isEmpty()) {
            commands.add("docker stop " + names(running, " "));
        }
        if (!stay.isEmpty()) {
            commands.add("docker rm " + names(stay, " "));
        }
        return String.join(" && ", commands);
    }

    public static String names(List<Listed> containers, String separator) {
        return containers.stream()
                .map(Listed::name)
                .map(Quote::shown)
                .collect(Collectors.joining(separator));
    }
}
