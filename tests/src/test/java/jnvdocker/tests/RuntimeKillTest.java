package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.KillPoint;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Moments;
import jnvdocker.tests.world.Registry;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/**
 * Daemon, runtime and engine are killed at any moment while docker has our runtime create
 * containers: no GPU ever has two holders, and nothing is left behind. Each test takes a few of the
 * many moments, or all with {@code KILL_POINTS=all} in the environment.
 */
class RuntimeKillTest extends RuntimeEngineTest {
    private static final int FEW = 1;
    private static final Duration LATE = Duration.ofSeconds(4);

    /** An option of strace: it is no parent of the traced process, so it need not be waited for. */
    private static final String ALL_PROCESSES = "-D -f";

    private static final Executor THREADS = Thread::startVirtualThread;
    private static final String LISTED = "{{.Names}} {{.Label \"jnvdocker.gpus\"}}";

    private static int writes;

    @BeforeAll
    static void addKilledRuntime() throws IOException {
        Path script = directory.resolve("nvidia-container-runtime");
        Files.writeString(
                script,
                "#!/bin/bash\n"
                        + ("[[ \" $* \" != *' create '* ]] || exec strace -qq -o " + trace())
                        + (" $(cat " + directory.resolve("inject") + ") " + runtime.program())
                        + " \"$@\" < /dev/null > /dev/null 2>&1\n"
                        + ("exec " + runtime.program() + " \"$@\"\n"));
        Command.of("chmod", "755", script).run().ok();
        Files.writeString(
                runtime.config(),
                Files.readString(runtime.config())
                        .replace(
                                "\"runtimes\": {",
                                "\"runtimes\": {\"killed\": {\"path\": \"" + script + "\"},"));
        lab.engine().restart();
    }

    private static Path trace() {
        return directory.resolve("trace");
    }

    private static Command.Result start(String name, int gpus, String option) {
        return lab.docker(
                "run",
                option,
                "--runtime=nvidia",
                "--name=" + name,
                "--network=none",
                "--stop-signal=KILL",
                "--label=jnvdocker.gpus=" + gpus,
                "plain",
                "sleep",
                option.equals("-d") ? "1000" : "0");
    }

    /** Typical commands of users, which may fail. */
    private static void useGpus() {
        start("train", 1, "-d");
        start("big", 2, "-d");
        lab.docker("restart", "train");
        lab.docker("stop", "train");
        lab.docker("start", "train");
        lab.docker("rm", "-f", "big");
        start("short", 2, "--rm");
    }

    /**
     * Returns the violations of this rule: each running container has a lease of the GPUs that it
     * requested, and no other has one.
     */
    private static List<String> untruths() {
        List<String> twice = lab.registry().heldTwice();
        if (!twice.isEmpty()) {
            throw new AssertionError("in two leases: " + twice);
        }
        Map<String, Integer> running = new HashMap<>();
        lab.docker("ps", "--format", LISTED)
                .ok()
                .out()
                .lines()
                .map(line -> line.split(" "))
                .forEach(words -> running.put(words[0], Integer.parseInt(words[1])));
        Map<String, Integer> leased = new HashMap<>();
        List<Registry.Lease> live = lab.registry().live();
        live.forEach(lease -> leased.merge(lease.container(), lease.minors().size(), Integer::sum));
        List<String> wrong = new ArrayList<>();
        if (!running.equals(leased)) {
            wrong.add("running " + running + ", leased " + leased);
        }
        Set<String> claims =
                live.stream()
                        .map(Registry.Lease::claim)
                        .collect(Collectors.toCollection(TreeSet::new));
        if (!lab.directories().equals(claims)) {
            wrong.add("directories " + lab.directories() + " of " + claims);
        }
        return wrong;
    }

    private static void assertSound(String when) {
        try {
            Lab.await(RuntimeKillTest::untruths);
            lab.engine().removeContainers();
            Lab.await(RuntimeKillTest::untruths);
            start("all", 4, "--rm").ok();
            Lab.await(RuntimeKillTest::untruths);
        } catch (AssertionError e) {
            throw new AssertionError(when + ": " + e.getMessage() + "\n" + lab.log(), e);
        }
    }

    /** When the daemon is killed. */
    enum Strike {
        BEFORE_A_WRITE(KillPoint::before),
        AMID_A_WRITE(KillPoint::amid),
        IN_ITS_TALK(moment -> KillPoint.talking(lab.daemon().socket(), moment));

        private final IntFunction<KillPoint> at;

        Strike(IntFunction<KillPoint> at) {
            this.at = at;
        }

        private int moments() {
            return this == IN_ITS_TALK ? count(at.apply(0)) : writes();
        }
    }

    private static int writes() {
        if (writes == 0) {
            writes = count(KillPoint.never());
        }
        return writes;
    }

    /** Counts the moments. */
    private static int count(KillPoint counting) {
        lab.daemon().stop();
        try (counting) {
            lab.daemon().launch(counting.environment());
            useGpus();
            lab.engine().removeContainers();
            lab.daemon().stop();
            return counting.calls();
        }
    }

    @ParameterizedTest
    @EnumSource
    void daemonIsKilled(Strike strike) {
        for (int moment :
                Moments.some("the daemon is killed " + strike, 1, strike.moments(), FEW)) {
            lab.daemon().stop();
            try (KillPoint point = strike.at.apply(moment)) {
                Process process = lab.daemon().launch(point.environment());
                var next = process.onExit().thenRunAsync(lab::startDaemon, THREADS);
                useGpus();
                // One that lives on would end amid the next moment, and be replaced by one that
                // knows no moment.
                process.destroy();
                next.join();
                assertSound(strike + " " + moment);
            }
        }
    }

    /** The engine is notified that the creation failed, and no GPU is held. */
    @Test
    void runtimeIsKilledAtItsSystemCalls() throws Exception {
        lab.startDaemon();
        List<String> calls = calls();
        assertTrue(calls.size() > 40, calls::toString);
        for (int i : Moments.some("the runtime is killed", 1, calls.size(), FEW)) {
            String call = calls.get(i - 1);
            Command.Result run = killed("-e inject=" + call);
            // How often it polls depends on how soon the daemon answers.
            boolean absent = call.startsWith("poll:") && polls() < Integer.parseInt(when(call));
            assertTrue(absent || run.exitCode() != 0, call + " " + run);
            assertSound("the runtime at " + call);
        }
    }

    /** The number of an injected call among those of its name. */
    private static String when(String call) {
        return call.substring(call.lastIndexOf('=') + 1);
    }

    private static long polls() throws IOException {
        return Files.readAllLines(trace()).stream()
                .filter(line -> line.startsWith("poll("))
                .count();
    }

    private static Command.Result killed(String options) throws IOException {
        Files.writeString(directory.resolve("inject"), options);
        return lab.docker(
                "run",
                "--rm",
                "--runtime=killed",
                "--network=none",
                "--label=jnvdocker.gpus=2",
                "plain",
                "true");
    }

    /**
     * The system calls until it becomes the real runtime, each as strace names it for an injection.
     */
    private static List<String> calls() throws IOException {
        killed("").ok();
        Map<String, Integer> seen = new HashMap<>();
        List<String> calls = new ArrayList<>();
        for (String line : Files.readAllLines(trace())) {
            String name = line.replaceFirst("\\(.*", "");
            int when = seen.merge(name, 1, Integer::sum);
            if (name.equals("execve") && when == 2) {
                break;
            }
            calls.add(name + ":signal=KILL:when=" + when);
        }
        return calls.subList(1, calls.size());
    }

    /**
     * The GPUs are the container's by then. At the first call of each kind, it is killed, or one of
     * the processes that it has begun.
     */
    @Test
    void realRuntimeIsKilledAmidACreation() throws Exception {
        lab.startDaemon();
        List<String> kinds = kindsOfCalls();
        assertTrue(kinds.size() > 20, kinds::toString);
        for (int i : Moments.some("the real runtime is killed", 1, kinds.size(), FEW)) {
            killed(ALL_PROCESSES + " -e inject=" + kinds.get(i - 1) + ":signal=KILL");
            Lab.await(() -> trace("killed by SIGKILL") ? List.of() : List.of(kinds.get(i - 1)));
            assertSound("the real runtime at " + kinds.get(i - 1));
        }
    }

    /** The system calls that the real runtime makes, and ours does not. */
    private static List<String> kindsOfCalls() throws IOException {
        killed(ALL_PROCESSES).ok();
        Set<String> ours = new HashSet<>();
        Set<String> real = new LinkedHashSet<>();
        int programs = 0;
        for (String line : Files.readAllLines(trace())) {
            String name = line.replaceFirst("^[0-9]+ +", "").replaceFirst("\\(.*", "");
            programs += name.equals("execve") ? 1 : 0;
            if (name.matches("[a-z0-9_]+")) {
                (programs < 2 ? ours : real).add(name);
            }
        }
        real.removeAll(ours);
        return List.copyOf(real);
    }

    private static boolean trace(String words) {
        try {
            return Files.readString(trace()).contains(words);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Each is killed alone or together with the daemon. */
    @ParameterizedTest
    @EnumSource
    void engineIsKilled(Victims victims) throws Exception {
        lab.startDaemon();
        start("train", 1, "-d").ok();
        start("big", 2, "-d").ok();
        Lab.await(RuntimeKillTest::untruths);
        List<Long> shims = victims == Victims.ENGINE ? List.of() : shims();
        if (victims != Victims.SHIMS) {
            lab.engine().kill();
        }
        for (long shim : shims) {
            ProcessHandle.of(shim).ifPresent(ProcessHandle::destroyForcibly);
        }
        if (victims == Victims.ALL) {
            lab.daemon().kill();
            lab.startDaemon();
        }
        if (victims != Victims.SHIMS) {
            // Containers that run on without an engine keep their GPUs.
            assertEquals(3, lab.registry().holders().size());
            lab.engine().start();
        }
        assertSound(victims.toString());
    }

    /** The processes that are dead when a container ends. */
    enum Dead {
        CONTAINERD,
        ENGINE_AND_SHIMS
    }

    /** An engine that does not know of the end may start the container again until it is asked. */
    @ParameterizedTest
    @EnumSource
    void endWithoutAReportCountsOnceTheEngineKnows(Dead dead) throws InterruptedException {
        lab.startDaemon();
        start("train", 1, "-d").ok();
        start("big", 2, "-d").ok();
        Lab.await(RuntimeKillTest::untruths);
        ProcessHandle ended = ProcessHandle.of(init("train")).orElseThrow();
        List<Long> shims = shims();
        if (dead == Dead.CONTAINERD) {
            lab.engine().killContainerd();
        } else {
            lab.engine().kill();
            shims.forEach(shim -> ProcessHandle.of(shim).ifPresent(ProcessHandle::destroyForcibly));
        }
        ended.destroyForcibly();
        ended.onExit().join();
        // Time in which the daemon notices that nothing of it runs.
        Thread.sleep(3000);
        assertEquals(3, lab.registry().holders().size());
        if (dead == Dead.CONTAINERD) {
            // For a long time, the engine says that the ended container runs.
            lab.engine().kill();
        }
        // An engine that starts ends what ran on, and so "big".
        lab.engine().start();
        Lab.await(() -> {
            Map<Integer, String> holders = lab.registry().holders();
            return holders.isEmpty() ? List.of() : List.of("holders are " + holders);
        });
        assertSound(dead.toString());
    }

    @Test
    void containersThatOutliveTheEngineKeepTheirLeases() throws Exception {
        lab.startDaemon();
        String config = Files.readString(runtime.config());
        configure(config.replaceFirst("\\{", "{\"live-restore\": true,"));
        try {
            start("train", 1, "-d").ok();
            start("big", 2, "-d").ok();
            Lab.await(RuntimeKillTest::untruths);
            List<Registry.Lease> leases = lab.registry().live();
            lab.engine().restart();
            Lab.await(RuntimeKillTest::untruths);
            assertEquals(leases, lab.registry().live());
            long ended = init("train");
            lab.engine().kill();
            ProcessHandle.of(ended).ifPresent(ProcessHandle::destroyForcibly);
            lab.engine().start();
            Lab.await(RuntimeKillTest::untruths);
            assertEquals(leases.subList(1, 2), lab.registry().live());
            lab.docker("kill", "big").ok();
            Lab.await(RuntimeKillTest::untruths);
            assertSound("with live-restore");
        } finally {
            configure(config);
        }
    }

    private static void configure(String json) throws IOException {
        Files.writeString(runtime.config(), json);
        lab.engine().reload();
    }

    /** The daemon runs, or starts a moment after the engine. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void engineThatStartsHasItsContainersBack(boolean late) throws Exception {
        lab.startDaemon();
        for (String name : List.of("train", "big")) {
            lab.docker(
                            "run",
                            "-d",
                            "--runtime=nvidia",
                            "--name=" + name,
                            "--network=none",
                            "--restart=always",
                            "--stop-signal=KILL",
                            "--label=jnvdocker.gpus=2",
                            "plain",
                            "sleep",
                            "1000")
                    .ok();
        }
        Lab.await(RuntimeKillTest::untruths);
        if (late) {
            lab.daemon().kill();
        }
        var engine = CompletableFuture.runAsync(lab.engine()::restart, THREADS);
        if (late) {
            Thread.sleep(LATE);
            lab.startDaemon();
        }
        engine.join();
        Lab.await(() ->
                lab.registry().holders().size() == 4
                        ? untruths()
                        : List.of(lab.registry().holders().toString()));
        assertSound("after the engine's start");
    }

    /** The processes to kill. */
    enum Victims {
        SHIMS,
        ENGINE,
        ALL
    }

    private static List<Long> shims() {
        List<Long> shims = new ArrayList<>();
        for (String name : List.of("train", "big")) {
            shims.add(ProcessHandle.of(init(name)).orElseThrow().parent().orElseThrow().pid());
        }
        return shims;
    }

    private static long init(String container) {
        return Long.parseLong(lab.inspect(container, "{{.State.Pid}}"));
    }
}
