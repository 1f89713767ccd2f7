package jnvdocker.doctor;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineFacts;
import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.host.DeviceNodes;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Checks whether the engine answers, and is set up so that containers keep their GPUs. */
final class EngineCheck implements Check {
    /** The limit of a question to the engine, which mostly takes some milliseconds. */
    static final Duration LIMIT = Duration.ofSeconds(3);

    private static final Pattern VERSION =
            Pattern.compile("([0-9]{1,5})\\.([0-9]{1,5})\\.([0-9]{1,5})");

    /** The first runc that needs no links. */
    private static final int[] NEEDS_NO_LINKS = {1, 1, 7};

    private final DockerEngine engine;
    private final DeviceNodes nodes;
    private final DaemonFacts daemon;
    private final DockerlessHost dockerless;

    EngineCheck(
            DockerEngine engine, DeviceNodes nodes, DaemonFacts daemon, DockerlessHost dockerless) {
        this.engine = engine;
        this.nodes = nodes;
        this.daemon = daemon;
        this.dockerless = dockerless;
    }

    @Override
    public String name() {
        return "engine";
    }

    @Override
    public List<Finding> findings() throws IOException {
        if (dockerless.isSo()) {
            return List.of(dockerless.engine());
        }
        EngineFacts facts;
        try {
            facts = engine.facts(LIMIT);
        } catch (EngineException e) {
            return List.of(Finding.wrong(e));
        }
        List<Finding> found = new ArrayList<>();
        if (!facts.product().isDocker() || facts.product().rootless()) {
            return List.of(
                    Finding.wrong(
                            "the server at "
                                    + engine.socket()
                                    + " is "
                                    + facts.product().title()
                                    + ", whose containers get no GPUs",
                            "let JNVDOCKER_DOCKER_SOCKET name the socket of root's Docker"
                                    + " engine"));
        }
        found.add(
                Finding.ok(
                        "Docker "
                                + Quote.shown(facts.version())
                                + " answers at "
                                + engine.socket()
                                + ", with cgroups by "
                                + Quote.shown(facts.cgroupDriver())));
        standardRuntime(facts, engine::isGuarded).ifPresent(found::add);
        if (facts.cgroupDriver().equals("systemd")) {
            String runtime = engine.runtimeVersion(facts, LIMIT);
            List<String> missing =
                    nodes.unlinked().stream()
                            .map(node -> node.major() + ":" + node.minor())
                            .toList();
            links(runtime, missing, daemon).ifPresent(found::add);
        }
        return found;
    }

    /**
     * @param guarded tests whether a program is ours
     */
    static Optional<Finding> standardRuntime(EngineFacts facts, Predicate<String> guarded) {
        EngineRuntimes runtimes = facts.runtimes();
        return runtimes.isNvidiaStandard()
                        && !guarded.test(runtimes.paths().getOrDefault(runtimes.standard(), ""))
                ? Optional.of(
                        Finding.wrong(
                                "the engine's default runtime is "
                                        + Quote.shown(facts.runtimes().standard())
                                        + ", which gives GPUs to any image that requests them,"
                                        + " bypassing jnvdocker",
                                "take \"default-runtime\" out of /etc/docker/daemon.json, and"
                                        + " restart docker; or have jnvdocker's: 'jnvdocker"
                                        + " runtime install --default'"))
                : Optional.empty();
    }

    /**
     * @param runtime the version of the engine's runc; empty when it is not known
     */
    static Optional<Finding> links(String runtime, List<String> missing, DaemonFacts daemon) {
        return missing.isEmpty() || needsNoLinks(runtime)
                ? Optional.empty()
                : Optional.of(
                        Finding.wrong(
                                "a systemctl daemon-reload takes the GPUs of running containers:"
                                        + " systemd manages their cgroups, runc "
                                        + Quote.shown(runtime)
                                        + " passes on only devices with a link in /dev/char, and"
                                        + " there is none for "
                                        + String.join(", ", missing),
                                "make the links: "
                                        + daemon.tree().resolve("bin/jnvdockerd")
                                        + " --make-nodes; containers that run already have them"
                                        + " from their next restart on"));
    }

    private static boolean needsNoLinks(String runtime) {
        Matcher version = VERSION.matcher(runtime);
        return version.lookingAt()
                && Arrays.compare(
                                Stream.of(1, 2, 3)
                                        .mapToInt(part -> Integer.parseInt(version.group(part)))
                                        .toArray(),
                                NEEDS_NO_LINKS)
                        >= 0;
    }
}
