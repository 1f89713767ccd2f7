package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * A restart keeps its GPUs: who restarts a container, by which way it got its GPU, and who wants
 * that GPU meanwhile. Each way has one host, on which all wants are there at once: a container for
 * each. All of them keep their GPUs; compose cannot request GPUs of the plain engine.
 */
@Tag("docker")
@Tag("root")
class RestartMatrixTest {
    private static final int USER = 61001;
    private static final int OTHER = 61002;
    private static final long LIMIT_NANOS = 60_000_000_000L;

    /** Less than the 15 s after which dockerd queries a plugin for the last time. */
    private static final Duration OF_DOCKER = Duration.ofSeconds(12);

    /** Less than the 30 s for which our OCI runtime waits for a daemon. */
    private static final Duration OF_RUNTIME = Duration.ofSeconds(25);

    private static final int TRIES = 3;

    private static final int CRASHES = 6;

    /** The containers, by the GPU that each has, and who wants that GPU. */
    private static final Map<Integer, String> HOLDERS =
            Map.of(0, "waiter", 1, "cordon", 2, "first and partner", 3, "booking");

    /** In the order in which they start and are restarted. */
    private static final Map<String, String> REQUESTS =
            new TreeMap<>(
                    Map.of(
                            "booking", "device=3",
                            "cordon", "device=1",
                            "first", "device=2",
                            "partner", "with=first",
                            "waiter", "device=0"));

    /** How a container gets its GPU. */
    private enum Way {
        /** By {@code jnvdocker run}, on an engine as it is. */
        PLAIN,
        /** By our OCI runtime, which compose names. */
        NAMED,
        /** By our OCI runtime, which is the engine's default. */
        DEFAULT,
        /** The same by {@code jnvdockerd --proxy}. */
        PROXY;

        boolean isCompose() {
            return this != PLAIN;
        }
    }

    /** Who restarts containers. */
    private enum Restart {
        COMMAND,
        CRASHES,
        COMPOSE_RESTART,
        COMPOSE_RECREATE,
        DAEMON_KILLED,
        ENGINE,
        LIVE_RESTORE;

        boolean isOf(Way way) {
            return way.isCompose() || !List.of(COMPOSE_RESTART, COMPOSE_RECREATE).contains(this);
        }
    }

    private Way way;
    private Lab lab;
    private Path directory;
    private Optional<RuntimeInstallation> runtime = Optional.empty();
    private Optional<Process> proxy = Optional.empty();
    private Optional<Process> waiting = Optional.empty();
    private final List<String> lost = new ArrayList<>();

    @ParameterizedTest
    @EnumSource
    void restartKeepsItsGpusWhoeverWantsThem(Way which) throws Exception {
        way = which;
        try (Lab opened = new Lab(TestEngine.Release.DEBIAN_STABLE)) {
            lab = opened;
            directory = Directories.make("m");
            try {
                install();
                for (Restart restart : Restart.values()) {
                    if (restart.isOf(way)) {
                        hold();
                        Map<String, String> pids = pids();
                        perform(restart);
                        if (!areOthers(pids, pids())) {
                            lost.add(way + " " + restart + " has restarted nothing");
                        }
                        check(restart);
                    }
                }
            } finally {
                endWaiting();
                proxy.ifPresent(Process::destroy);
                runtime.ifPresent(RuntimeInstallation::close);
                Directories.remove(directory);
            }
        }
        assertEquals(List.of(), lost);
    }

    private void install() {
        if (way == Way.PLAIN) {
            return;
        }
        runtime =
                Optional.of(
                        way == Way.DEFAULT
                                ? RuntimeInstallation.of(lab, "--default")
                                : RuntimeInstallation.of(lab));
        Command.of("chmod", "755", directory).run().ok();
        if (way == Way.PROXY) {
            proxy =
                    Optional.of(
                            lab.daemon()
                                    .jnvdockerd("--proxy")
                                    .with("JNVDOCKER_PROXY_SOCKET", socket())
                                    .with("JNVDOCKER_PROXY_GROUP", "nogroup")
                                    .log(directory.resolve("log"))
                                    .start());
            Lab.await(() -> Files.exists(socket()) ? List.of() : List.of("no " + socket()));
        }
    }

    private Path socket() {
        return directory.resolve("docker.sock");
    }

    /** All containers hold their GPUs, and others want these. */
    private void hold() throws IOException {
        if (waiting.isPresent() && isKept()) {
            return;
        }
        endWaiting();
        lab.configure(Restricted.NO.config);
        for (int gpu = 0; gpu < 4; gpu++) {
            lab.jnvdocker("gpu", "uncordon", gpu);
        }
        lab.engine().removeContainers();
        Lab.await(() -> {
            Map<Integer, String> now = lab.registry().holders();
            return now.isEmpty() ? List.of() : List.of("" + now);
        });
        if (way.isCompose()) {
            compose("up", "-d").ok();
        } else {
            REQUESTS.forEach(
                    (name, gpus) -> lab.startAs(USER, name, gpus, "--restart=always").run().ok());
        }
        Lab.await(() -> isKept() ? List.of() : List.of("" + lab.registry().holders()));
        restrict();
    }

    /** What a restart must not notice. */
    private enum Restricted {
        NO(""),
        /** The user has more GPUs than that. */
        YES("limits.'*'.gpus = 1\n");

        final String config;

        Restricted(String words) {
            config = words + "bookings = 'end'\n[runtime]\ntrust_owner = ['label']\n";
        }
    }

    private void restrict() {
        lab.jnvdocker("gpu", "cordon", 1);
        if (lab.jnvdocker("gpu", "book", "--json").json().isEmpty()) {
            lab.as(OTHER, "gpu", "book", "3", "--from", "tomorrow 23:58", "--for", "1m").run().ok();
        }
        if (waiting.filter(Process::isAlive).isEmpty()) {
            waiting =
                    Optional.of(
                            lab.daemon()
                                    .jnvdocker(
                                            "gpu",
                                            "run",
                                            "--gpu-wait",
                                            "--gpus=device=0",
                                            "sleep",
                                            "1000")
                                    .start());
        }
        Lab.await(() -> lab.registry().tickets() == 1 ? List.of() : List.of("nobody waits"));
        lab.configure(Restricted.YES.config);
    }

    private void endWaiting() {
        waiting.ifPresent(process -> {
            process.destroyForcibly();
            process.onExit().join();
        });
        waiting = Optional.empty();
    }

    private boolean isKept() {
        return wrongs().isEmpty();
    }

    /** The wants that have cost a container its GPU. */
    private List<String> wrongs() {
        Map<Integer, String> now = lab.registry().holders();
        Map<String, String> states = states();
        return Stream.concat(
                        HOLDERS.entrySet().stream()
                                .filter(each -> !isHeld(now.get(each.getKey()), each.getValue()))
                                .map(each -> each.getValue() + ": " + now.get(each.getKey())),
                        REQUESTS.keySet().stream()
                                .filter(name -> !"running".equals(states.get(name)))
                                .map(name -> name + " is " + states.get(name)))
                .toList();
    }

    private static boolean isHeld(String now, String names) {
        return now != null
                && List.of(names.split(" and ")).stream()
                        .sorted()
                        .toList()
                        .equals(List.of(now.split(" and ")).stream().sorted().toList());
    }

    private Map<String, String> states() {
        Map<String, String> states = new HashMap<>();
        lab.docker("ps", "-a", "--format", "{{.Names}} {{.State}}")
                .out()
                .lines()
                .map(line -> line.split(" "))
                .forEach(words -> states.put(words[0], words[1]));
        return states;
    }

    private void check(Restart restart) throws InterruptedException {
        long begun = System.nanoTime();
        while (!isKept() && System.nanoTime() - begun < LIMIT_NANOS) {
            Thread.sleep(100);
        }
        wrongs().forEach(wrong -> lost.add(way + " " + restart + " " + wrong));
    }

    private void perform(Restart restart) throws Exception {
        switch (restart) {
            case COMMAND -> restart().run().ok();
            case CRASHES -> crash();
            case COMPOSE_RESTART -> compose("restart", "-t", "0").ok();
            case COMPOSE_RECREATE -> compose("up", "-d", "--force-recreate", "-t", "0").ok();
            case DAEMON_KILLED -> {
                for (int tries = 1; !restartsBesideKill(); tries++) {
                    assertTrue(tries < TRIES, "the daemon takes too long to start");
                    hold();
                }
            }
            case ENGINE -> lab.engine().restart();
            case LIVE_RESTORE -> {
                lab.engine().restart("--live-restore");
                lab.engine().restart(new String[0]);
            }
        }
    }

    /**
     * Returns false if the daemon was away for longer than a start waits for it, as on a machine
     * that is busy; then the restart has failed as it should, and shows nothing.
     */
    private boolean restartsBesideKill() {
        long begun = System.nanoTime();
        var restarted = CompletableFuture.supplyAsync(() -> restart().run());
        lab.daemon().kill();
        // Before the tests that run beside this one.
        lab.daemon().jnvdocker("gpu", "ls").after("nice", "-n", "-15").run().ok();
        Duration patience = way == Way.PLAIN ? OF_DOCKER : OF_RUNTIME;
        boolean wasInTime = System.nanoTime() - begun < patience.toNanos();
        Command.Result result = restarted.join();
        if (wasInTime) {
            result.ok();
        }
        return wasInTime;
    }

    private Command restart() {
        List<Object> words = new ArrayList<>(List.of("restart", "-t", "0"));
        words.addAll(REQUESTS.keySet());
        return way == Way.PROXY
                ? of(lab.engine().docker(words.toArray()))
                : lab.engine().docker(words.toArray());
    }

    /** The engine waits longer before each start, up to 3.2 s. */
    private void crash() {
        for (int i = 0; i < CRASHES; i++) {
            Map<String, String> pids = pids();
            pids.values().forEach(pid -> Command.of("kill", "-KILL", pid).run());
            Lab.await(() -> {
                Map<String, String> now = pids();
                return areOthers(pids, now) ? List.of() : List.of(now + " after " + pids);
            });
        }
    }

    private Map<String, String> pids() {
        Map<String, String> pids = new TreeMap<>();
        List<Object> words = new ArrayList<>(List.of("inspect", "-f", "{{.Name}} {{.State.Pid}}"));
        words.addAll(REQUESTS.keySet());
        lab.docker(words.toArray())
                .out()
                .lines()
                .map(line -> line.split(" "))
                .filter(each -> !each[1].equals("0"))
                .forEach(each -> pids.put(each[0], each[1]));
        return pids;
    }

    private static boolean areOthers(Map<String, String> before, Map<String, String> now) {
        return now.keySet().containsAll(before.keySet())
                && before.entrySet().stream()
                        .noneMatch(each -> each.getValue().equals(now.get(each.getKey())));
    }

    private Command of(Command command) {
        return command.with("DOCKER_HOST", "unix://" + socket())
                .with("DOCKER_CONFIG", directory.resolve("none"))
                .with("TMPDIR", "/tmp")
                .with("HOME", "/")
                .as(USER, "nogroup");
    }

    private Command.Result compose(Object... words) throws IOException {
        Path file = directory.resolve("compose.yaml");
        if (!Files.exists(file)) {
            Files.writeString(file, project());
        }
        List<Object> all = new ArrayList<>(List.of("-p", "matrix", "-f", file));
        all.addAll(List.of(words));
        if (way != Way.PROXY) {
            return Client.COMPOSE_2.command(lab, all.toArray()).in(directory).run();
        }
        // A user may not read root's directories.
        Path program = directory.resolve("docker-compose");
        if (!Files.exists(program)) {
            Files.copy(Client.COMPOSE_2.program(), program);
        }
        all.addFirst(program);
        return of(Command.of(all.toArray()).in(directory)).run();
    }

    private String project() {
        StringBuilder text = new StringBuilder("services:\n");
        REQUESTS.forEach((name, gpus) -> {
            text.append("  ").append(name).append(":\n");
            text.append("    image: plain\n    command: sleep 1000\n    stop_signal: KILL\n");
            text.append("    network_mode: none\n    restart: always\n");
            text.append("    container_name: ").append(name).append('\n');
            text.append("    labels:\n      jnvdocker.gpus: ").append(gpus).append('\n');
            if (way != Way.PROXY) {
                text.append("      jnvdocker.owner: 'uid:").append(USER).append("'\n");
            }
            if (way != Way.DEFAULT) {
                text.append("    runtime: nvidia\n");
            }
            if (name.equals("partner")) {
                text.append("    depends_on: [first]\n");
            }
        });
        return text.toString();
    }
}
