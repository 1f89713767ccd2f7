package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The client's own work: it becomes docker and stays out of the way. */
@Tag("tree")
@Attack(
        by = "a copy of jnvdocker named docker, a script that runs jnvdocker",
        what = "comes first in PATH",
        result = "the copy is not taken for docker; the script is refused after 8 rounds")
class ClientTest {
    private static final Path CLIENT = Project.tree().resolve("bin/jnvdocker");

    private Path directory;

    @BeforeEach
    void makeDirectory() {
        directory = Directories.make("client");
    }

    @AfterEach
    void removeDirectory() {
        Directories.remove(directory);
    }

    /** The client with a docker that prints how it was called, and with no daemon. */
    private Command client(Object... arguments) {
        Object[] words = new Object[arguments.length + 1];
        words[0] = CLIENT;
        System.arraycopy(arguments, 0, words, 1, arguments.length);
        return Command.of(words)
                .with("JNVDOCKER_RUN_DIR", directory.resolve("run"))
                .with("PATH", Project.fixture("bin") + ":/usr/bin:/bin");
    }

    private static void assertHas(Command.Result result, String line) {
        assertTrue(result.out().lines().anyMatch(line::equals), () -> line + " in " + result);
    }

    @Test
    void commandsThatStartNoContainerBecomeDocker() {
        for (String command :
                new String[] {"ps", "images", "start", "exec", "build", "--version", "", "-"}) {
            Command.Result result = client(command, "--all", "x").run().ok();
            assertHas(result, "argument=--all");
            assertHas(result, "argument=x");
            assertFalse(Files.exists(directory.resolve("run")), command + " used a daemon");
        }
    }

    @Test
    void withoutArgumentsItIsDocker() {
        assertHas(client().run().ok(), "directory=/");
    }

    @Test
    void dockerIsTheSameProcessWithTheSameSurroundings() throws Exception {
        Process process =
                client("ps", "a b", "", "$x", "-eA=b", "line\nbreak", "ä")
                        .with("SOMETHING_ELSE", "kept")
                        .in(directory)
                        .start();
        process.getOutputStream().write("typed\n".getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().close();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Command.Result result = new Command.Result(process.waitFor(), out, "");
        assertHas(result, "pid=" + process.pid());
        assertHas(result, "argument=a\\ b");
        assertHas(result, "argument=''");
        assertHas(result, "argument=\\$x");
        assertHas(result, "argument=$'line\\nbreak'");
        assertHas(result, "environment=SOMETHING_ELSE=kept");
        assertHas(result, "directory=" + directory);
        assertHas(result, "descriptors= 0 1 2");
        assertHas(result, "input=typed");
    }

    @Test
    void limitsAndSignalMasksReachDocker() {
        String script = "ulimit -n 123; trap '' USR1; exec '" + CLIENT + "' ps";
        Command.Result result =
                Command.of("bash", "-c", script)
                        .with("PATH", Project.fixture("bin") + ":/usr/bin:/bin")
                        .run()
                        .ok();
        assertHas(result, "files=123");
        String ignored =
                result.out().lines().filter(l -> l.startsWith("ignored=")).findFirst().get();
        long mask = Long.parseUnsignedLong(ignored.substring("ignored=".length()), 16);
        assertEquals(1L << 9, mask & (1L << 9), "SIGUSR1 is no longer ignored");
        assertHas(result, "blocked=0000000000000000");
    }

    @Test
    void exitCodeIsDockers() throws IOException {
        Path script = Files.writeString(directory.resolve("script"), "exit 42");
        assertEquals(42, client("ps").with("FAKE_DOCKER", script).run().exitCode());
    }

    @Test
    void nvDockerNamesTheProgramAndItsFirstArguments() {
        Command.Result result =
                client("ps")
                        .with("NV_DOCKER", Project.fixture("bin/docker") + "  --first ")
                        .run()
                        .ok();
        assertHas(result, "argument=--first");
        assertHas(result, "argument=ps");
    }

    @Test
    void installedAsDockerItFindsTheRealOne() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("docker"), CLIENT);
        Command.Result result =
                Command.of(link, "ps")
                        .with("PATH", directory + ":" + Project.fixture("bin") + ":/usr/bin:/bin")
                        .run()
                        .ok();
        assertHas(result, "argument=ps");
        Command.Result itself =
                Command.of(CLIENT, "ps").with("NV_DOCKER", link).with("PATH", "/usr/bin").run();
        assertEquals(125, itself.exitCode());
        assertTrue(itself.err().startsWith("jnvdocker: NV_DOCKER names jnvdocker itself"));
    }

    /** Copies of another version, with other bytes, too; a copy lacks the tree around it. */
    @Test
    void copiesOfItThatComeFirstAreNotTakenForDocker() throws IOException {
        StringBuilder path = new StringBuilder();
        for (String place : List.of("copy", "newer", "link")) {
            Path docker = Files.createDirectory(directory.resolve(place)).resolve("docker");
            if (place.equals("link")) {
                Files.createSymbolicLink(docker, CLIENT);
            } else {
                Files.copy(CLIENT, docker, StandardCopyOption.COPY_ATTRIBUTES);
            }
            path.append(docker.getParent()).append(':');
        }
        Files.writeString(directory.resolve("newer/docker"), "x", StandardOpenOption.APPEND);
        path.append(Project.fixture("bin")).append(":/usr/bin:/bin");
        for (String started : List.of("copy/docker", "newer/docker", "link/docker")) {
            Command.Result result =
                    bounded(directory.resolve(started), "ps").with("PATH", path).run();
            assertHas(result, "argument=ps");
            assertEquals(1, result.out().split("argument=").length - 1, result::toString);
        }
        Path copy = directory.resolve("copy/docker");
        Command.Result itself = bounded(CLIENT, "ps").with("NV_DOCKER", copy).run();
        assertEquals(125, itself.exitCode(), itself::toString);
        assertTrue(itself.err().startsWith("jnvdocker: NV_DOCKER names jnvdocker itself"));
    }

    @Test
    void scriptInPlaceOfDockerThatRunsItAgainEnds() throws IOException {
        Path script = directory.resolve("docker");
        Files.writeString(script, "#!/bin/sh\nexec " + CLIENT + " \"$@\"\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
        String path = directory + ":/usr/bin:/bin";
        for (String docker : List.of("docker", "env docker", script.toString())) {
            Command command = bounded(CLIENT, "ps").with("NV_DOCKER", docker);
            Command.Result result = command.with("PATH", path).run();
            assertEquals(125, result.exitCode(), result::toString);
            assertTrue(result.err().contains("let NV_DOCKER name the real docker"), result::err);
        }
    }

    /** What other programs inherit by accident ends nothing. */
    @Test
    void otherValuesOfTheCountOfRoundsAreIgnored() {
        for (String rounds : List.of("", "-1", "99", "x", "7")) {
            assertHas(client("ps").with("JNVDOCKER_ROUNDS", rounds).run().ok(), "argument=ps");
        }
    }

    private static Command bounded(Object... words) {
        return Command.of(words).after("timeout", "20");
    }

    @Test
    void missingDockerIsNamed() {
        Command.Result result = Command.of(CLIENT, "ps").with("PATH", directory).run();
        assertEquals(125, result.exitCode());
        assertEquals(
                "jnvdocker: cannot find 'docker' in PATH ("
                        + directory
                        + ") other than jnvdocker itself; install docker, or name it in"
                        + " NV_DOCKER\n",
                result.err());
    }

    /**
     * This covers the client's own messages; the daemon's arrive in the encoding that it was sent
     * to use.
     */
    @Test
    void clientThatReadsAsciiAloneGetsAscii() {
        String name = "/nowhere/Gerät" + "x".repeat(300);
        String shown = "x".repeat(200 - "/nowhere/Gerät".length());
        Command docker = client("ps").with("NV_DOCKER", name);
        assertStartsWith(
                "jnvdocker: cannot run '/nowhere/Gerät" + shown + "…': ",
                docker.with("LC_ALL", "").with("LC_CTYPE", "de_DE.utf8").run().err());
        assertStartsWith(
                "jnvdocker: cannot run '/nowhere/Ger\\u{e4}t" + shown + "...': ",
                docker.with("LC_CTYPE", "").with("LANG", "de_DE").run().err());
        assertStartsWith(
                "jnvdocker: cannot run '/nowhere/Ger\\u{e4}t" + shown + "...': ",
                docker.with("LC_ALL", "C").with("LANG", "C.UTF-8").run().err());
    }

    private static void assertStartsWith(String beginning, String text) {
        assertEquals(beginning, text.substring(0, Math.min(beginning.length(), text.length())));
    }

    @Test
    void socketPathThatNoSocketCanHaveIsNamed() {
        String path = directory + "/" + "x".repeat(120);
        Command.Result result = client("run", "image").with("JNVDOCKER_SOCKET", path).run();
        assertEquals(125, result.exitCode());
        assertTrue(result.err().contains(path), result::toString);
    }

    @Test
    void signalsReachDocker() throws Exception {
        Path script = Files.writeString(directory.resolve("script"), "echo ready; exec sleep 60");
        Process process = client("ps").with("FAKE_DOCKER", script).start();
        assertEquals("ready", process.inputReader().readLine());
        process.destroy();
        assertTrue(process.waitFor(30, TimeUnit.SECONDS));
        assertEquals(128 + 15, process.exitValue());
    }

    /** With a shorter timeout than the built-in one, so that the test need not wait ten seconds. */
    @Test
    void daemonThatDoesNotAnswerIsNamedOnce() throws Exception {
        Command.of(
                        "make",
                        "-C",
                        Project.source("native"),
                        "OUT=" + directory,
                        "CFLAGS=-DSILENCE_NOTICE_MS=1000",
                        directory.resolve("jnvdocker"))
                .run()
                .ok();
        Path socket = directory.resolve("socket");
        byte[] frames = new Frames().err("at last\n").exit(5).toBytes();
        CountDownLatch requested = new CountDownLatch(1);
        HostileDaemon.Script slow =
                it -> {
                    requested.await();
                    return HostileDaemon.Script.saying(frames).play(it);
                };
        try (HostileDaemon _ = new HostileDaemon(socket, slow)) {
            Process process =
                    Command.of(directory.resolve("jnvdocker"), "gpu", "ls")
                            .with("JNVDOCKER_SOCKET", socket)
                            .start();
            assertEquals(
                    "jnvdocker: jnvdockerd (pid "
                            + ProcessHandle.current().pid()
                            + ", at "
                            + socket
                            + ") has not answered for 1 s; still waiting, Ctrl-C ends that",
                    process.errorReader().readLine());
            requested.countDown();
            assertEquals("at last", process.errorReader().readLine());
            assertEquals(5, process.waitFor());
        }
    }
}
