package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Clients of Docker's API that get it from {@code jnvdockerd --proxy}, as a user. */
class ProxyTest extends OneEngineTest {
    private static final int USER = 61001;
    private static final String GROUP = "nogroup";

    private static Path directory;
    private static RuntimeInstallation runtime;
    private static Process proxy;

    @BeforeAll
    static void openProxy() {
        runtime = RuntimeInstallation.of(lab);
        directory = Directories.make("proxy");
        Command.of("chmod", "755", directory).run().ok();
        proxy =
                lab.daemon()
                        .jnvdockerd("--proxy")
                        .with("JNVDOCKER_PROXY_SOCKET", socket())
                        .with("JNVDOCKER_PROXY_GROUP", GROUP)
                        .log(directory.resolve("log"))
                        .start();
        Lab.await(() -> Files.exists(socket()) ? List.of() : List.of(socket() + " is missing"));
        lab.configure("[runtime]\ntrust_owner = ['label']\n");
    }

    @AfterAll
    static void closeProxy() throws InterruptedException {
        proxy.destroy();
        assertEquals(0, proxy.waitFor());
        assertFalse(Files.exists(socket()));
        runtime.close();
        Directories.remove(directory);
    }

    private static Path socket() {
        return directory.resolve("docker.sock");
    }

    private static Command of(Command command) {
        return command.with("DOCKER_HOST", "unix://" + socket())
                .with("DOCKER_CONFIG", directory.resolve("none"))
                .with("DOCKER_BUILDKIT", 0)
                .with("TMPDIR", "/tmp")
                .with("HOME", "/");
    }

    private static Command docker(Object... words) {
        return of(lab.engine().docker(words)).as(USER, GROUP);
    }

    private static String run(Object... words) {
        return docker(words).run().ok().out();
    }

    /** How many descriptors the proxy has open: two for each connection, and others. */
    private static long descriptors() {
        try (Stream<Path> open = Files.list(Path.of("/proc/" + proxy.pid() + "/fd"))) {
            return open.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void commandsDoWhatTheyDoWithoutIt() throws IOException {
        Instant begun = Instant.now();
        assertEquals("out\n", run("run", "--rm", "plain", "echo", "out"));
        Command.Result failed = docker("run", "--rm", "plain", "sh", "-c", "cat; exit 3").run();
        assertEquals(3, failed.exitCode(), failed::toString);
        String input = "to the container\n".repeat(100_000);
        assertEquals(
                input, docker("run", "--rm", "-i", "plain", "cat").input(input).run().ok().out());
        run("run", "-d", "--name", "one", "plain", "sh", "-c", "echo begun; sleep 3; echo ended");
        assertEquals("begun\nended\n", run("logs", "-f", "one"));
        assertEquals("0\n", run("wait", "one"));
        run("run", "-d", "--name", "two", "--stop-signal=KILL", "plain", "sleep", "1000");
        assertEquals("of exec\n", run("exec", "two", "echo", "of exec"));
        assertEquals(input, docker("exec", "-i", "two", "cat").input(input).run().ok().out());
        Path file = Files.writeString(directory.resolve("file"), input);
        run("cp", file, "two:/file");
        assertEquals(input, run("exec", "two", "cat", "/file"));
        assertTrue(run("cp", "two:/file", "-").contains(input));
        assertTrue(run("ps", "--format", "{{.Names}}").contains("two"));
        run("rm", "-f", "one", "two");
        String events =
                run(
                        "events",
                        "--since",
                        begun.getEpochSecond(),
                        "--until",
                        Instant.now().getEpochSecond() + 1,
                        "--format",
                        "{{.Action}} {{.Actor.Attributes.name}}");
        assertTrue(events.contains("destroy two\n"), events);
    }

    @Test
    void imagesAreBuilt() {
        Command.Result built =
                docker("build", "--network", "none", "-t", "built", "-")
                        .input("FROM plain\nRUN echo made > /file\n")
                        .run();
        assertTrue(built.ok().out().contains("Successfully built"), built::toString);
        assertEquals("made\n", run("run", "--rm", "built", "cat", "/file"));
    }

    /** Its user is known to the daemon, by the client. */
    @Test
    void jnvdockerRunUsesItAsAnEngine() {
        Command.Result result =
                of(lab.as(
                                USER,
                                "run",
                                "-d",
                                "--name=ours",
                                "--network=none",
                                "--gpus=device=2",
                                "plain",
                                "sleep",
                                9))
                        .run();
        assertEquals("", result.ok().err());
        lab.awaitHolders(Map.of(2, "ours"));
        assertEquals(USER, lab.lease("ours").path("uid").asInt());
    }

    /** Whatever the container's own labels are. */
    @Test
    void ownerIsWhoeverIsConnected() throws IOException {
        String owner = "{{index .Config.Labels \"jnvdocker.owner\"}}";
        run(
                "run",
                "-d",
                "--name=train",
                "--runtime=nvidia",
                "--stop-signal=KILL",
                "--label=jnvdocker.gpus=1",
                "--label=jnvdocker.owner=root",
                "plain",
                "sleep",
                "1000");
        assertEquals("uid:61001", lab.inspect("train", owner));
        Lab.await(
                () -> lab.registry().liveOf("train").isPresent() ? List.of() : List.of("no lease"));
        assertEquals(USER, lab.lease("train").path("uid").asInt(), lab.lease("train")::toString);
        run("create", "--name=none", "plain");
        assertEquals("uid:61001", lab.inspect("none", owner));
        lab.docker("create", "--name=root", "plain").ok();
        assertEquals("", lab.inspect("root", owner));
        Path file =
                Files.writeString(
                        directory.resolve("compose.yml"),
                        """
                        services:
                          composed: {image: plain, command: sleep 1000, network_mode: none}
                        """);
        // A user may not read root's directories.
        Path compose = Files.copy(Client.COMPOSE_2.program(), directory.resolve("docker-compose"));
        of(Command.of(compose, "-p", "p", "-f", file, "up", "-d")).as(USER, GROUP).run().ok();
        assertEquals("uid:61001", lab.inspect("p-composed-1", owner));
    }

    @Test
    void streamOutlivesTheDaemon() throws IOException {
        Process stream = docker("run", "--rm", "-i", "plain", "cat").start();
        try (Writer in = stream.outputWriter();
                var out = stream.inputReader()) {
            in.write("one\n");
            in.flush();
            assertEquals("one", out.readLine());
            lab.daemon().stop();
            in.write("two\n");
            in.flush();
            assertEquals("two", out.readLine());
        }
    }

    /** Else each client that is interrupted would leave a reader in the engine. */
    @Test
    void engineNoticesThatAClientIsGone() throws IOException {
        run("run", "-d", "--name", "one", "--stop-signal=KILL", "plain", "sleep", "1000");
        run("ps");
        long before = descriptors();
        List<Process> clients =
                List.of(
                        docker("logs", "-f", "one").start(),
                        docker("events").start(),
                        docker("wait", "one").start());
        Lab.await(() -> descriptors() >= before + 6 ? List.of() : List.of("nothing is followed"));
        clients.forEach(Process::destroyForcibly);
        Lab.await(() -> descriptors() <= before ? List.of() : List.of("connections are open"));
    }
}
