package jnvdocker.doctor;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineFacts;
import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.Posix;
import jnvdocker.volume.DriverVolume;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Checks the Docker engine, and its way to our volume plugin. */
final class EngineChecks {
    /** The limit of a question to the engine, which mostly takes some milliseconds. */
    static final Duration LIMIT = Duration.ofSeconds(3);

    private static final Pattern VERSION =
            Pattern.compile("([0-9]{1,5})\\.([0-9]{1,5})\\.([0-9]{1,5})");

    /** The first runc that needs no links. */
    private static final int[] NEEDS_NO_LINKS = {1, 1, 7};

    /** The limit of a volume that it requests; dockerd itself tries for 15 s. */
    private static final Duration PLUGIN_LIMIT = Duration.ofSeconds(4);

    private static final Duration SHORT = Duration.ofSeconds(1);
    private static final int SYSTEMD = 1;

    /** The plugin of any jnvdocker, unless it has a name of its own. */
    private static final String OURS = "nvidia-docker";

    private final Doctor.Surroundings around;
    private final DockerEngine engine;
    private final DaemonFacts daemon;
    private final DockerlessHost dockerless;

    EngineChecks(Doctor.Surroundings around) {
        this.around = around;
        this.engine = around.engine();
        this.daemon = around.daemon();
        this.dockerless = new DockerlessHost(around);
    }

    /** Whether the engine answers, and is set up so that containers keep their GPUs. */
    void engine(Findings found) throws IOException {
        if (dockerless.isSo()) {
            dockerless.describe(found);
            return;
        }
        EngineFacts facts;
        try {
            facts = engine.facts(LIMIT);
        } catch (EngineException e) {
            found.wrong(e);
            return;
        }
        if (!facts.product().isDocker() || facts.product().rootless()) {
            found.wrong(
                    "the server at %s is %s, whose containers get no GPUs"
                            .formatted(engine.socket(), facts.product().title()),
                    "let JNVDOCKER_DOCKER_SOCKET name the socket of root's Docker engine");
            return;
        }
        found.ok(
                "Docker %s answers at %s, with cgroups by %s"
                        .formatted(
                                Quote.shown(facts.version()),
                                engine.socket(),
                                Quote.shown(facts.cgroupDriver())));
        standardRuntime(facts, found);
        if (facts.cgroupDriver().equals("systemd")) {
            String runtime = engine.objects().runtimeVersion(facts, LIMIT);
            List<String> missing =
                    around.gpuHost().nodes().unlinked().stream()
                            .map(node -> node.major() + ":" + node.minor())
                            .toList();
            links(runtime, missing, daemon, found);
        }
    }

    private void standardRuntime(EngineFacts facts, Findings found) {
        EngineRuntimes runtimes = facts.runtimes();
        if (runtimes.isNvidiaStandard()
                && !engine.isGuarded(runtimes.paths().getOrDefault(runtimes.standard(), ""))) {
            found.wrong(
                    "the engine's default runtime is "
                            + Quote.shown(runtimes.standard())
                            + ", which gives GPUs to any image that requests them, bypassing"
                            + " jnvdocker",
                    "take \"default-runtime\" out of /etc/docker/daemon.json, and restart docker;"
                            + " or have jnvdocker's: 'jnvdocker runtime install --default'");
        }
    }

    /**
     * @param runtime the version of the engine's runc; empty when it is not known
     */
    static void links(String runtime, List<String> missing, DaemonFacts daemon, Findings found) {
        if (!missing.isEmpty() && !needsNoLinks(runtime)) {
            found.wrong(
                    "a systemctl daemon-reload takes the GPUs of running containers: systemd"
                            + " manages their cgroups, runc "
                            + Quote.shown(runtime)
                            + " passes on only devices with a link in /dev/char, and there is none"
                            + " for "
                            + String.join(", ", missing),
                    "make the links: "
                            + daemon.tree().resolve("bin/jnvdockerd")
                            + " --make-nodes; containers that run already have them from their next"
                            + " restart on");
        }
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

    /** Whether the engine reaches our volume plugin, without which no container gets a GPU. */
    void plugin(Findings found) throws IOException {
        socket(found);
        // If the socket does not exist, a query through the engine takes long and finds nothing
        // more.
        if (found.isEmpty() && dockerless.isSo()) {
            found.ok("it listens at " + daemon.pluginSocket());
        } else if (found.isEmpty()) {
            byTheEngine(found);
        }
    }

    /** Finds the fault of the socket by which dockerd finds our volume plugin. */
    private void socket(Findings found) {
        Path socket = daemon.pluginSocket();
        if (!Files.exists(socket, LinkOption.NOFOLLOW_LINKS)) {
            // Once it is gone, it is never made again.
            found.wrong("the plugin's socket " + socket + " is gone", daemon.restart());
            return;
        }
        try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            int pid = Posix.peer(channel).pid();
            // The listener is systemd if it has handed the socket to us.
            if (pid != ProcessHandle.current().pid() && !(daemon.service() && pid == SYSTEMD)) {
                found.wrong(
                        "the plugin's socket " + socket + " is another program's (pid " + pid + ")",
                        "stop that one, and " + daemon.restart());
            }
        } catch (IOException e) {
            found.wrong(
                    "nobody answers at the plugin's socket %s (%s)"
                            .formatted(socket, Finding.failure(e)),
                    daemon.restart());
        }
    }

    /** Has the engine request the loaded driver's volume, as every run does. */
    private void byTheEngine(Findings found) throws IOException {
        DriverVersion driver = HostDriver.readVersion(around.host());
        engine.facts(LIMIT);
        if (around.volumes().find(driver).isEmpty()) {
            found.unknown("the engine was not queried: its driver volume is incomplete");
            return;
        }
        String volume = DriverVolume.name(driver);
        try {
            engine.objects().createVolume(volume, daemon.pluginName(), PLUGIN_LIMIT);
            found.ok("the engine gets " + volume + " from " + daemon.pluginSocket());
        } catch (EngineException e) {
            if (isForeign(volume, found)) {
                return;
            }
            found.wrong(
                    "the engine does not get %s from plugin %s (%s)"
                            .formatted(volume, daemon.pluginName(), Finding.failure(e)),
                    "see that %s is in its directory of plugins, and %s"
                            .formatted(daemon.pluginSocket(), daemon.restart()));
        }
    }

    /**
     * Docker makes a volume of its own of that name for any container that mounts it without our
     * driver.
     */
    private boolean isForeign(String volume, Findings found) {
        Optional<String> driver;
        List<String> users;
        try {
            driver = engine.objects().volumeDriver(volume, SHORT).filter(it -> !it.equals(OURS));
            users =
                    engine.using(List.of(volume), SHORT).stream()
                            .map(user -> Quote.shown(user.name()))
                            .sorted()
                            .toList();
        } catch (EngineException e) {
            return false; // it still waits for the plugin
        }
        if (driver.isEmpty()) {
            return false;
        }
        String remove = "docker volume rm " + volume;
        found.wrong(
                "the engine has a volume "
                        + volume
                        + " of the driver '"
                        + Quote.shown(driver.get())
                        + "', so that no container gets the one of "
                        + daemon.pluginName()
                        + (users.isEmpty() ? "" : "; it is used by " + String.join(", ", users)),
                users.isEmpty()
                        ? "if its files are not needed: " + remove
                        : "remove these containers when they are not needed, then " + remove);
        return true;
    }
}
