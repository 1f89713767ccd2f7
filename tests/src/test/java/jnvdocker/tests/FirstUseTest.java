package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
import java.util.List;

/** A new user's first contact: version, help, a daemon that is down, a mistyped option. */
@Attack(
        by = "a fault",
        what = "the kernel has no `close_range` when root's first command starts the daemon",
        result = "the daemon inherits none of the user's files")
class FirstUseTest extends OneHostTest {
    private TestDaemon daemon;

    @BeforeEach
    void makeDaemon() {
        daemon = new TestDaemon(host);
    }

    @AfterEach
    void stopDaemon() {
        daemon.close();
    }

    private Command typed(Object... words) {
        return daemon.jnvdocker(words).with("NV_DOCKER", Project.fixture("bin/docker"));
    }

    /** Typed by a user who cannot start a daemon. */
    private Command typedWithoutDaemon(String line) {
        return typed((Object[]) line.split(" "))
                .with("JNVDOCKER_SOCKET", "/run/no-such-directory/jnvdocker.sock")
                .asNobody();
    }

    @Test
    void versionIsDockersThenOurs() {
        Command.Result result = typed("version").run().ok();
        assertTrue(
                result.out().matches("(?s)pid=.*argument=version\n.*\n\njnvdocker: [0-9.]+\n"),
                result::toString);
    }

    /** An administrator asks for it before the engine runs, and reports faults with it. */
    @ParameterizedTest
    @CsvSource({
        "version, '(?s).*\n\njnvdocker: [0-9.]+\n'",
        "--version, 'Docker version [^\n]*\njnvdocker version [0-9.]+\n'",
        "-v, 'Docker version [^\n]*\njnvdocker version [0-9.]+\n'"
    })
    void versionIsShownWithoutAnEngine(String word, String shown) {
        Command.Result result =
                daemon.jnvdocker(word).with("DOCKER_HOST", "unix:///run/no-such.sock").run();
        assertTrue(result.out().matches(shown), result::toString);
        assertEquals(word.equals("version") ? 1 : 0, result.exitCode());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "version --format {{.Server.Version}}",
                "version --format=json",
                "version -f json",
                "version -fjson",
                "--debug version --format json",
                "version --help",
                "version foo"
            })
    void versionWithAnArgumentIsDockersAlone(String line) {
        Command.Result result = typed((Object[]) line.split(" ")).run().ok();
        assertTrue(result.out().startsWith("pid="), result::toString);
        assertFalse(result.out().contains("jnvdocker: "), result::toString);
        assertEquals("", result.err());
    }

    @ParameterizedTest
    @ValueSource(strings = {"--help", "-h", "help", "--debug --help"})
    void helpIsDockersThenOurs(String line) {
        Command.Result result = typed((Object[]) line.split(" ")).run().ok();
        assertTrue(
                result.out().matches("(?s)pid=.*\n\njnvdocker adds:\n.*\n  gpu   .*"),
                result::toString);
        assertFalse(daemon.pid().isPresent(), "a daemon was started");
    }

    /** Docker prints its help as an error when no command is given. */
    @Test
    void nothingTypedIsAnsweredOnStandardError() {
        Command.Result result = typed().run().ok();
        assertFalse(result.out().contains("jnvdocker adds"), result::toString);
        assertTrue(result.err().startsWith("\njnvdocker adds:\n"), result::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ps --help", "help run", "compose help"})
    void otherHelpIsDockersAlone(String line) {
        Command.Result result = typed((Object[]) line.split(" ")).run().ok();
        assertFalse(result.out().contains("jnvdocker adds"), result::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"run", "create", "container run"})
    void helpOfRunNamesOurOptions(String verb) {
        Command.Result result = typed((Object[]) (verb + " --help").split(" ")).run().ok();
        assertTrue(
                result.out()
                        .matches("(?s)pid=.*argument=--help\n.*\njnvdocker adds:\n.*--gpu-wait.*"),
                result::toString);
        String help = result.out().replaceAll("\\s+", " ");
        assertTrue(help.contains(" when it ends, or its terminal hangs up: "), result::toString);
    }

    /** As root, whose other commands start one; the daemon fits the same text to the terminal. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "gpu",
                "gpu --help",
                "gpu -h",
                "gpu help",
                "gpu help ls",
                "gpu ps --help",
                "--debug gpu why name -h",
                "gpu run --gpus 2 --gpu-time=1h --help",
                "gpu submit -h",
                "k8s",
                "mesos help",
                "runtime install --default --help",
                "run --help",
                "create -it --help",
                "container run --rm --help"
            })
    void helpStartsNoDaemonAndMakesNoDirectories(String line) throws IOException {
        Command help = typed((Object[]) line.split(" "));
        Command.Result alone = help.run().ok();
        assertEquals("", alone.err());
        assertFalse(Files.exists(daemon.socket().getParent()), "a directory is made");
        assertFalse(Files.exists(daemon.state()), "a directory is made");
        daemon.jnvdocker("gpu", "ls").run().ok();
        assertEquals(text(help.run().ok()), text(alone));
    }

    private static String text(Command.Result result) {
        return result.out().replaceAll("pid=.*\n", "").replaceAll("\\s+", "").replace("…", "...");
    }

    @Test
    void helpOfNoCommandSaysSoWithoutADaemon() {
        for (String line : List.of("gpu sl --help", "gpu help ../gpu", "runtime help sl")) {
            Command.Result wrong = typed((Object[]) line.split(" ")).run();
            assertEquals(2, wrong.exitCode(), line);
            Lab.assertMatches("jnvdocker: no such command: \\S+; see '.* --help'\n", wrong.err());
        }
        assertFalse(daemon.pid().isPresent(), "a daemon was started");
    }

    /** The help of the program that is run. */
    @ParameterizedTest
    @ValueSource(strings = {"gpu run --gpus 0 echo --help", "gpu run --gpus=0 -- echo --help"})
    void helpOfAnotherProgramIsNotOurs(String line) {
        Command.Result result = typed((Object[]) line.split(" ")).run();
        assertFalse(result.out().contains("jnvdocker"), result::toString);
        assertTrue(daemon.pid().isPresent(), result::toString);
    }

    @Test
    void helpThatDockerRefusesIsNotFollowedByOurs() throws IOException {
        var script = Files.writeString(daemon.state().resolveSibling("refuse"), "exit 7\n");
        Command.Result help = typed("--help").with("FAKE_DOCKER", script).run();
        assertEquals("", help.out());
        assertEquals(7, help.exitCode());
        Command.Result version = typed("version").with("FAKE_DOCKER", script).run();
        assertTrue(version.out().startsWith("\njnvdocker: "), version::toString);
        assertEquals(7, version.exitCode());
    }

    /** Linux before 5.9, and some sandboxes, have no close_range. */
    @Test
    void daemonInheritsNoFileWithoutCloseRange() throws IOException {
        Path file = Files.writeString(daemon.state().resolveSibling("inherited"), "");
        Command.of(
                        "bash",
                        "-c",
                        "exec 9< \"$0\"; exec strace -f -b execve -qq -o /dev/null"
                                + " -e trace=close_range -e inject=close_range:error=ENOSYS \"$@\"",
                        file,
                        Project.tree().resolve("bin/jnvdocker"),
                        "gpu",
                        "ls")
                .with(daemon.environment())
                .run()
                .ok();
        Path open = Path.of("/proc/" + daemon.pid().orElseThrow() + "/fd/9");
        assertFalse(Files.exists(open) && Files.isSameFile(open, file));
    }

    @Test
    void helpIsACommandOfEachGroup() {
        daemon.jnvdocker("gpu", "ls").run().ok();
        for (String group : new String[] {"gpu", "k8s", "mesos", "runtime"}) {
            assertEquals(
                    daemon.jnvdocker(group, "--help").run().ok().out(),
                    daemon.jnvdocker(group, "help").run().ok().out());
        }
        assertEquals(
                daemon.jnvdocker("gpu", "why", "--help").run().ok().out(),
                daemon.jnvdocker("gpu", "help", "why").run().ok().out());
        for (String group : new String[] {"gpu", "k8s", "mesos", "runtime"}) {
            assertEquals(
                    daemon.jnvdocker(group, "help").run().ok().out(),
                    daemon.jnvdocker(group).run().ok().out());
            String ours = "\n  " + group + "  ";
            assertTrue(typed("--help").run().ok().out().contains(ours), group);
        }
        Command.Result wrong = daemon.jnvdocker("gpu", "sl").run();
        assertEquals(2, wrong.exitCode());
        assertEquals(
                "jnvdocker: no such command: sl (did you mean ls?); see 'jnvdocker gpu --help'\n",
                wrong.err());
    }

    /** Words of other programs are known, and no mistake leads to a command that destroys. */
    @Test
    void wordsOfOtherProgramsLeadToOurs() {
        daemon.jnvdocker("gpu", "ls").run().ok();
        for (String word : new String[] {"status", "list", "ps", "usage"}) {
            String shown = daemon.jnvdocker("gpu", word).run().ok().out();
            assertTrue(shown.startsWith("GPU   UUID   "), shown);
        }
        assertNoSuchCommand("lss", " (did you mean ls?)");
        assertNoSuchCommand("drain", " (did you mean cordon?)");
        assertNoSuchCommand("info", " (did you mean ls?)");
        assertNoSuchCommand("reserve", " (did you mean book?)");
        assertNoSuchCommand("logs", " (did you mean history?)");
        assertNoSuchCommand("users", " (did you mean ls, or history?)");
        assertNoSuchCommand("wait", " (did you mean 'jnvdocker run --gpu-wait', or queue?)");
        String stop = " (did you mean 'docker stop CONTAINER', or 'jnvdocker gpu cancel JOB'?)";
        assertNoSuchCommand("stop", stop);
        assertNoSuchCommand("kill", stop);
        assertNoSuchCommand("unistall", "");
        assertEquals(
                "jnvdocker: no such command: ''; see 'jnvdocker gpu --help'\n",
                daemon.jnvdocker("gpu", "").run().err());
        assertNoSuchCommand("topology", " (did you mean ls --topology?)");
        assertNoSuchCommand(
                "remake", " (did you mean 'docker rm CONTAINER', then 'jnvdocker run'?)");
        assertEquals(
                "jnvdocker: unknown option: --chart (did you mean page?); see 'jnvdocker gpu"
                        + " history --help'\n",
                daemon.jnvdocker("gpu", "history", "--chart").run().err());
        assertEquals(
                "jnvdocker: no such command: unistall; see 'jnvdocker runtime --help'\n",
                daemon.jnvdocker("runtime", "unistall").run().err());
    }

    private void assertNoSuchCommand(String word, String meant) {
        assertEquals(
                "jnvdocker: no such command: " + word + meant + "; see 'jnvdocker gpu --help'\n",
                daemon.jnvdocker("gpu", word).run().err());
    }

    /** Docker would search for an image named 5m. */
    @Test
    void durationInPlaceOfTheImageIsNamed() {
        daemon.jnvdocker("gpu", "ls").run().ok();
        Command.Result result = typed("run", "--gpu-wait", "5m", "cuda", "train").run();
        assertEquals(125, result.exitCode());
        assertEquals(
                "jnvdocker: '5m' after --gpu-wait would be the image; type"
                        + " --gpu-wait=5m to wait that long\n",
                result.err());
    }

    @ParameterizedTest
    @ValueSource(strings = {"run --rm plain true", "container --debug create plain"})
    void containerThatNamesNoGpuNeedsNoDaemon(String line) {
        Command.Result result = typedWithoutDaemon(line).run().ok();
        assertTrue(
                result.out()
                        .matches(
                                "(?s).*\n"
                                        + "argument=(run|create)\n"
                                        + "argument=-e\n"
                                        + "argument=NVIDIA_VISIBLE_DEVICES=void\n"
                                        + ".*argument=plain\n"
                                        + ".*"),
                result::toString);
        assertTrue(
                result.err()
                        .matches(
                                "(?s)jnvdocker: no daemon answers at .*, waiting 3 s for it\n"
                                        + "jnvdocker: warning: no daemon answers at .*\n"
                                        + "jnvdocker: warning: docker starts this container without"
                                        + " GPUs\n"),
                result::toString);
    }

    /** A daemon that is restarted is away for less than three seconds. */
    @Test
    void daemonThatComesBackServesTheContainer() throws Exception {
        daemon.jnvdocker("gpu", "ls").run().ok();
        Path socket = daemon.socket();
        Path away = socket.resolveSibling("away");
        Path directory = socket.getParent().getParent();
        Command.of("chmod", "755", directory).run().ok();
        Path said = directory.resolve("said");
        int group = (Integer) Files.getAttribute(socket, "unix:gid");
        Command.Result served = typed("run", "plain").as(61001, "" + group).run();
        Files.move(socket, away);
        Process client = typed("run", "plain").as(61001, "" + group).log(said).start();
        Lab.await(() ->
                Command.of("cat", said).run().out().contains(", waiting 3 s for it\n")
                        ? List.of()
                        : List.of("the client does not wait"));
        Files.move(away, socket);
        assertEquals(served.exitCode(), client.waitFor());
        String text = Files.readString(said);
        assertTrue(text.endsWith(served.err()), text);
        assertFalse(text.contains("warning"), text);
    }

    /** Here root's client tries to start the daemon, which does not start. */
    @Test
    void containerThatNamesNoGpuNeedsNoDaemonThatStarts() {
        daemon.config("nonsense = 1\n");
        Command.Result result = typed("run", "plain").run().ok();
        assertTrue(result.out().contains("argument=NVIDIA_VISIBLE_DEVICES=void\n"));
        assertTrue(
                result.err().contains("jnvdocker: warning: jnvdockerd did not start"),
                result::toString);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "run --gpus 1 plain",
                "run --device /dev/nvidia0 plain",
                "run --device /dev/dri/card0 plain",
                "run -v /dev/char/195:0:/gpu plain",
                "run --privileged plain",
                "run --device-cgroup-rule c_195:*_rw plain",
                "run --runtime runc plain",
                "run Nvidia/CUDA",
                "run -e NVIDIA_VISIBLE_DEVICES=all plain",
                "run --gpu-wait plain",
                "gpu ls"
            })
    void whatMayNeedAGpuNeedsTheDaemon(String line) {
        Command.Result result = typedWithoutDaemon(line).run();
        assertEquals(125, result.exitCode(), result::toString);
        assertEquals("", result.out());
        assertTrue(result.err().startsWith("jnvdocker: no daemon answers at "), result::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"NV_GPU", "NVIDIA_VISIBLE_DEVICES", "NV_GPU_WAIT", "DOCKER_GPUS"})
    void variableThatMayChooseAGpuNeedsTheDaemon(String variable) {
        Command.Result result = typedWithoutDaemon("run plain").with(variable, "1").run();
        assertEquals(125, result.exitCode(), result::toString);
    }
}
