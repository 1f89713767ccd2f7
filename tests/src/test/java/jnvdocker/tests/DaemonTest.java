package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The daemon's life: how it starts, which users may talk to it, how it ends. */
@Attack(
        by = "root in a container",
        what = "runs `jnvdocker` or `jnvdockerd` where the host's socket is not to be seen",
        result = "refused; no second daemon starts")
@Attack(
        by = "a client",
        what = "comes while a service starts the daemon",
        result = "waits for that one")
@Attack(
        by = "root, by mistake",
        what = "deletes the lock files, and starts a second daemon with another run directory",
        result = "refused, with the first one's pid")
@Attack(
        by = "root, by mistake",
        what =
                "restores the state directory, or writes the configuration, with an owner or"
                        + " mode that lets others change it",
        result = "refused, with the path and the remedy")
@Attack(
        by = "root, by mistake",
        what =
                "has pipes, directories, dangling links, devices or files of a gigabyte in place"
                        + " of its files",
        result =
                "never waited for; named in one line, and ignored or refused; there is one reader"
                    + " of files. Before, a pipe in `jobs` kept the daemon from coming up, without"
                    + " a word")
@Attack(
        by = "root, by mistake",
        what = "sets `JAVA_TOOL_OPTIONS` and the like for the daemon",
        result = "not passed on")
@Attack(
        by = "a fault",
        what = "two daemons, stale sockets, deleted locks, network directories",
        result = "the second one is refused")
class DaemonTest extends OneHostTest {
    private TestDaemon daemon;

    @BeforeEach
    void makeDaemon() {
        daemon = new TestDaemon(host);
    }

    @AfterEach
    void stopDaemon() {
        daemon.close();
    }

    @Test
    void rootsFirstCommandStartsItAndSaysSo() {
        Command.Result result = daemon.jnvdocker("gpu", "ls").run().ok();
        assertEquals(
                "jnvdocker: no daemon at "
                        + daemon.socket()
                        + ", starting "
                        + Project.tree().resolve("bin/jnvdockerd")
                        + "\n",
                result.err());
        assertEquals("", daemon.jnvdocker("gpu", "ls").run().ok().err());
    }

    @Test
    void startedByAClientItHasNoTieToTheClientsSession() throws IOException {
        daemon.jnvdocker("gpu", "ls")
                .with("SECRET", "of the session")
                .in(Path.of("/tmp"))
                .run()
                .ok();
        Path proc = Path.of("/proc/" + daemon.pid().orElseThrow());
        assertEquals(Path.of("/"), Files.readSymbolicLink(proc.resolve("cwd")));
        for (String variable : Files.readString(proc.resolve("environ")).split("\0")) {
            assertTrue(variable.matches("(?s)(PATH|LANG|LC_ALL|JNVDOCKER_[A-Z_]*)=.*"), variable);
        }
        assertNotEquals(sessionOf(Path.of("/proc/self")), sessionOf(proc));
        assertEquals(Path.of("/dev/null"), Files.readSymbolicLink(proc.resolve("fd/0")));
        assertEquals(daemon.log(), Files.readSymbolicLink(proc.resolve("fd/2")));
    }

    /** Returns the sixth field of stat; the second is a name that may contain any character. */
    private static String sessionOf(Path process) throws IOException {
        return Files.readString(process.resolve("stat")).replaceAll("(?s).*\\) ", "").split(" ")[3];
    }

    @Test
    void clientsAtOnceStartOneDaemon() {
        List<CompletableFuture<Command.Result>> clients =
                Stream.generate(() -> daemon.jnvdocker("gpu", "ls"))
                        .limit(8)
                        .map(client -> CompletableFuture.supplyAsync(client::run))
                        .toList();
        List<Command.Result> results = clients.stream().map(CompletableFuture::join).toList();
        results.forEach(Command.Result::ok);
        assertEquals(1, results.stream().filter(result -> !result.err().isEmpty()).count());
    }

    @Test
    void deletedLockLetsNoSecondDaemonIn() throws IOException {
        daemon.jnvdocker("gpu", "ls").run().ok();
        ProcessHandle first = ProcessHandle.of(daemon.pid().orElseThrow()).orElseThrow();
        try {
            Files.delete(daemon.socket().resolveSibling("jnvdockerd.pid"));
            Command.Result second = daemon.jnvdockerd().run();
            assertEquals(125, second.exitCode());
            assertTrue(second.err().contains("set JNVDOCKER_STATE_DIR"), second::toString);

            Command.of("sh", "-c", "rm -f \"$0\"/*.lock*", daemon.state()).run().ok();
            try (TestDaemon other = new TestDaemon(host)) {
                other.with("JNVDOCKER_STATE_DIR", daemon.state());
                Process process = other.launch(Map.of());
                assertFalse(process.isAlive(), "two daemons on one state directory");
                assertEquals(125, process.exitValue());
                String why = Files.readString(other.log());
                assertTrue(
                        why.contains(
                                "jnvdocker: another jnvdockerd (pid "
                                        + first.pid()
                                        + ") uses "
                                        + daemon.state()
                                        + "; stop it first, or set JNVDOCKER_STATE_DIR"),
                        why);
            }
            assertEquals("", daemon.jnvdocker("gpu", "ls").run().ok().err());
        } finally {
            first.destroy();
            first.onExit().join();
        }
    }

    /** A copy that was restored belongs to another user, who can change it. */
    @Test
    void stateThatOthersMayChangeIsRefused() {
        daemon.jnvdocker("gpu", "volume").run().ok();
        daemon.stop();
        Path state = daemon.state();
        Map.of(
                        "chown -R 4243 .; chmod 777 .",
                        "users other than root can write to " + state + ", and so could",
                        "chown 4243 claims",
                        state + "/claims belongs to uid 4243",
                        "chmod 666 registry.db",
                        state + "/registry.db may be written by users other than root",
                        "chown -R 4243 volumes",
                        state + "/volumes belongs to uid 4243")
                .forEach((change, what) -> {
                    Command.of("sh", "-c", "mkdir -p claims; " + change).in(state).run().ok();
                    Command.Result refused = daemon.jnvdockerd().after("timeout", 60).run();
                    assertEquals(125, refused.exitCode());
                    assertTrue(refused.err().startsWith("jnvdocker: " + what), refused::err);
                    assertTrue(refused.err().contains("; "), refused::err);
                    Command.of("sh", "-c", "chown -R root: $0 && chmod -R go-w $0", state)
                            .run()
                            .ok();
                });
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    /** Nobody will ever write to a pipe, and a device has no end. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "mkfifo \"$f\"",
                "mkdir -p \"$f/in\"",
                "ln -s /nowhere \"$f\"",
                "mknod \"$f\" c 1 5",
                "truncate -s 1G \"$f\""
            })
    void whateverHasTheNameOfOneOfItsFilesKeepsItFromNothing(String make) throws IOException {
        Path state = daemon.state();
        Path run = daemon.socket().getParent();
        List<Path> files =
                List.of(
                        state.resolve("claims/0123456789ab/claim.json"),
                        state.resolve("claims/0123456789ab/claim.json.new"),
                        state.resolve("jobs/1.json"),
                        state.resolve("gpu-errors"),
                        state.resolve("mesos-install"),
                        state.resolve("runtimes.json"),
                        run.resolve("event.json"),
                        run.resolve("runtime/" + "0d1f".repeat(16)));
        for (Path file : files) {
            Files.createDirectories(file.getParent());
            Command.of("sh", "-c", "f=$0; " + make, file).run().ok();
        }
        assertTimeoutPreemptively(
                Duration.ofSeconds(120),
                () -> {
                    daemon.jnvdocker("gpu", "ls").run().ok();
                    daemon.jnvdocker("gpu", "reload").run().ok();
                    Command.Result jobs = daemon.jnvdocker("gpu", "jobs").run();
                    assertEquals(1, jobs.exitCode(), jobs::toString);
                    assertTrue(jobs.err().contains("job 1: " + files.get(2)), jobs::err);
                });
        String log = Files.readString(daemon.log());
        for (String file : List.of("jobs/1.json", "gpu-errors", "runtime/0d1f")) {
            assertTrue(log.lines().anyMatch(line -> line.contains(file)), log);
        }
        assertFalse(log.contains("\tat "), log);
    }

    @ParameterizedTest
    @CsvSource({
        "mkfifo registry.db, /registry.db is a named pipe",
        "touch claims, /claims is not a directory; move it away",
        "mkfifo jobs, /jobs is not a directory; move it away",
        "ln -s /nowhere volumes, /volumes is not a directory; move it away",
        "ln -s /nowhere/registry.db registry.db, '/registry.db is a link to"
                + " /nowhere/registry.db, which is not there; '"
    })
    void stateOfAnotherKindIsRefusedByName(String command, String what) {
        Path state = daemon.state();
        Command.of("sh", "-c", "mkdir $0 && cd $0 && " + command, state).run().ok();
        Command.Result refused = daemon.jnvdockerd().after("timeout", 60).run();
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(refused.err().contains("jnvdocker: " + state + what), refused::err);
        assertTrue(refused.err().contains("; "), refused::err);
    }

    @Test
    void variablesThatJavaObeysAreNotPassedOn() {
        Command.Result result =
                daemon.jnvdockerd("--version")
                        .with("JAVA_TOOL_OPTIONS", "-Dx=1")
                        .with("JDK_JAVA_OPTIONS", "-Dx=2")
                        .with("_JAVA_OPTIONS", "-Dx=3")
                        .run()
                        .ok();
        assertEquals("", result.err());
    }

    @Test
    void sigtermEndsItCleanly() throws Exception {
        Process process = daemon.jnvdockerd().start();
        while (!Files.exists(daemon.socket())) {
            assertTrue(process.isAlive());
            Thread.sleep(10);
        }
        daemon.jnvdocker("gpu", "ls").run().ok();
        process.destroy();
        assertTrue(process.waitFor(30, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue());
        assertFalse(Files.exists(daemon.socket()));
        assertFalse(Files.exists(daemon.pluginSocket()));
    }

    /** Else the service that has started it could never start it again. */
    @Test
    void clientWaitsForADaemonThatIsStarting() {
        Process process = daemon.jnvdockerd().start();
        Lab.await(() ->
                process.info().command().orElse("").endsWith("/java")
                        ? List.of()
                        : List.of("Java does not start"));
        assertEquals("", daemon.jnvdocker("gpu", "ls").run().ok().err());
        assertEquals(process.pid(), daemon.pid().orElseThrow());
        assertTrue(process.isAlive());
        process.destroy();
    }

    /** It would give out GPUs that the host's daemon has given out. */
    @ParameterizedTest
    @ValueSource(strings = {"--pid --fork --mount-proc", "--mount"})
    void noDaemonStartsInAContainer(String namespaces) {
        daemon.with("JNVDOCKER_NAMESPACES", "");
        Path bin = Project.tree().resolve("bin");
        for (String program : List.of("jnvdockerd", "jnvdocker")) {
            List<Object> words = new ArrayList<>(List.of("unshare"));
            words.addAll(List.of(namespaces.split(" ")));
            words.add(bin.resolve(program));
            if (program.equals("jnvdocker")) {
                words.addAll(List.of("gpu", "ls"));
            }
            Command.Result refused = Command.of(words.toArray()).with(daemon.environment()).run();
            assertEquals(125, refused.exitCode(), refused::toString);
            assertTrue(refused.err().contains("on the host"), refused::toString);
            assertFalse(Files.exists(daemon.socket()));
        }
    }

    @Test
    void afterAKillTheNextCommandStartsAnother() {
        daemon.jnvdocker("gpu", "ls").run().ok();
        long first = daemon.pid().orElseThrow();
        daemon.kill();
        assertTrue(Files.exists(daemon.socket()), "a killed daemon leaves its socket");
        daemon.jnvdocker("gpu", "ls").run().ok();
        assertTrue(daemon.pid().orElseThrow() != first);
    }

    @Test
    void configuredGroupOwnsTheSocket() {
        daemon.config("socket_group = 'daemon'\n");
        daemon.jnvdocker("gpu", "ls").run().ok();
        assertEquals(
                "660 daemon\n",
                Command.of("stat", "-c", "%a %G", daemon.socket()).run().ok().out());
    }

    @Test
    void othersLearnTheUserToContact() {
        daemon.with("JNVDOCKER_RUN_DIR", daemon.socket().getParent());
        Command.Result absent = asNobody("gpu", "ls");
        assertEquals(125, absent.exitCode(), absent::toString);
        assertTrue(
                absent.err().contains("an administrator can start it: sudo jnvdocker gpu ls"),
                absent::toString);
        daemon.jnvdocker("gpu", "ls").run().ok();
        Command.Result forbidden = asNobody("gpu", "ls");
        assertEquals(125, forbidden.exitCode());
        assertEquals(
                "jnvdocker: you may not use "
                        + daemon.socket()
                        + "; an administrator can add you to the group docker, then log in"
                        + " again\n",
                forbidden.err());
    }

    private Command.Result asNobody(Object... arguments) {
        // A test's directory is accessible to root alone, that of a real daemon to everyone.
        Command.of("chmod", "755", daemon.socket().getParent().getParent()).run().ok();
        Path client = daemon.socket().getParent().resolveSibling("jnvdocker");
        Command.of("cp", Project.tree().resolve("bin/jnvdocker"), client).run().ok();
        List<Object> words = new ArrayList<>(List.of(client));
        words.addAll(List.of(arguments));
        return Command.of(words.toArray()).asNobody().with(daemon.environment()).run();
    }

    @Test
    void wrongConfigurationIsNamedWithItsLine() {
        daemon.config("default_gpus = '1'\nmax_gpu = 3\n");
        Command.Result result = daemon.jnvdockerd().run();
        assertEquals(125, result.exitCode());
        assertTrue(result.err().contains("config.toml:2: unknown key 'max_gpu'"), result::toString);
    }

    @Test
    void startThatFailsPointsToTheLog() throws IOException {
        daemon.config("nonsense = 1\n");
        Command.Result result = daemon.jnvdocker("gpu", "ls").run();
        assertEquals(125, result.exitCode());
        assertTrue(
                result.err().contains("did not start; read why in its log, " + daemon.log()),
                result::toString);
        assertTrue(Files.readString(daemon.log()).contains("unknown key 'nonsense'"));
    }

    @Test
    void fileInTheSocketsPlaceIsLeftAlone() throws IOException {
        Path precious = Files.writeString(daemon.state().resolveSibling("precious"), "x");
        daemon.with("JNVDOCKER_SOCKET", precious);
        Command.Result result = daemon.jnvdockerd().run();
        assertEquals(125, result.exitCode());
        assertTrue(
                result.err().contains(precious + " (there is something else)"), result::toString);
        assertEquals("x", Files.readString(precious));
    }

    @Test
    void runDirectoryOfARootWithAStrictUmaskIsStillForTheGroup() {
        Command.of(
                        "bash",
                        "-c",
                        "umask 077; exec \"$@\"",
                        "-",
                        Project.tree().resolve("bin/jnvdocker"),
                        "gpu",
                        "ls")
                .with(daemon.environment())
                .run()
                .ok();
        assertEquals(
                "755 660\n",
                Command.of("stat", "-c", "%a", daemon.socket().getParent(), daemon.socket())
                        .run()
                        .ok()
                        .out()
                        .replaceFirst("\n", " "));
    }

    @Test
    void runAndStateMayBeOneDirectory() {
        daemon.with("JNVDOCKER_STATE_DIR", daemon.socket().getParent());
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    @Test
    void treeRunsWhereverItIsMoved() {
        Path moved = daemon.socket().getParent().resolveSibling("moved");
        Command.of("cp", "-a", Project.tree(), moved).run().ok();
        Command.of(moved.resolve("bin/jnvdocker"), "gpu", "ls")
                .with(daemon.environment())
                .run()
                .ok();
    }
}
