package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** What could not start after a wait for GPUs is refused before the wait. */
@Tag("docker")
@Tag("root")
class WaitTrialTest {
    private static Lab lab;
    private static Path directory;

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.wanted(), 2);
        directory = Directories.make("trial");
    }

    @AfterAll
    static void close() {
        lab.close();
        Directories.remove(directory);
    }

    @AfterEach
    void clear() {
        lab.clear();
    }

    private static Command waiting(String verb, Object... options) {
        List<Object> words = new ArrayList<>(List.of(verb, "--gpus=device=0", "--gpu-wait=1m"));
        words.addAll(Arrays.asList(options));
        words.addAll(List.of("plain", "true"));
        return lab.daemon().jnvdocker(words.toArray());
    }

    private static void assertNotWaited(String why, Command command) {
        Command.Result refused = command.run();
        assertEquals(125, refused.exitCode(), refused::toString);
        Lab.assertMatches("(?s)jnvdocker: " + why + "\n", refused.err());
        assertEquals(0, lab.registry().tickets());
    }

    /** As of a unit whose client was killed, and whose container goes on. */
    @Test
    void nameInUseIsRefusedWithItsHolder() {
        lab.run("train", 0);
        String remedy = "remove that container with 'docker rm -f train', or choose another name";
        assertNotWaited(
                "the name 'train' is in use by container [0-9a-f]{12} \\(running\\): GPU 0"
                        + " \\(GPU-5c1a0000\\) is held by root's container train since [0-9:]+; "
                        + remedy,
                waiting("run", "--rm", "--name=train"));
        assertNotWaited(
                "the name 'train' is in use by container .*; " + remedy,
                waiting("create", "--name", "train"));
        lab.docker("create", "--name", "old", "plain", "true").ok();
        assertNotWaited(
                "the name 'old' is in use by container [0-9a-f]{12} \\(created\\); remove .*",
                waiting("run", "--name=old"));
    }

    @ParameterizedTest
    @CsvSource({
        "--network=nope, network",
        "'--network=name=nope,alias=a', network",
        "--net=nope, network",
        "--network=container:nope, container",
        "--pid=container:nope, container",
        "--ipc=container:nope, container",
        "--volumes-from=nope:ro, container",
        "--link=nope:web, container",
    })
    void whatIsNotThereIsRefused(String option, String kind) {
        lab.run("train", 0);
        assertNotWaited(
                "the container needs the " + kind + " 'nope', which does not exist; create it .*",
                waiting("run", "--rm", option));
    }

    @ParameterizedTest
    @CsvSource({
        "--publish=99999:1, 'invalid hostPort: 99999'",
        "--publish=a:b:c:d, .+",
        "--restart=seldom, (?i)invalid restart policy.*seldom.*",
        "--memory=1k, Minimum memory limit allowed is 6MB",
        "--workdir=here, the working directory 'here' is invalid.*",
        "--env-file=/nope, open /nope: no such file or directory",
        "--ulimit=much, .+",
    })
    void whatDockerCannotReadIsRefused(String option, String why) {
        lab.run("train", 0);
        assertNotWaited(
                "docker would refuse this command after the wait: "
                        + why
                        + "; correct it \\('docker run --help' explains the options\\)",
                waiting("run", option));
    }

    @Test
    void programThatIsNotThereIsRefused() {
        lab.run("train", 0);
        String[][] missing = {{"no-such-program"}, {"/no/such/program"}, {"./program", "a"}};
        for (String[] command : missing) {
            List<Object> words =
                    new ArrayList<>(List.of("gpu", "run", "--gpus=device=0", "--gpu-wait=1m"));
            words.add("--");
            words.addAll(List.of(command));
            assertNotWaited(
                    "cannot run '" + command[0] + "': there is no such program; name .*",
                    lab.daemon().jnvdocker(words.toArray()));
        }
    }

    /** The trial leaves nothing behind, needs no terminal and reads no pipe empty. */
    @Test
    void allElseWaitsAndStartsAsTyped() throws Exception {
        lab.run("train", 0);
        Path file = Files.writeString(directory.resolve("variables"), "A=1\n");
        Path log = directory.resolve("log");
        Path id = directory.resolve("id");
        Process client =
                waiting(
                                "run",
                                "-itd",
                                "--stop-signal=KILL",
                                "--name=next",
                                "--cidfile=" + id,
                                "--env-file=" + file,
                                "--env-file=/dev/fd/7",
                                "--volume=data:/data",
                                "--volumes-from=train")
                        .after("bash", "-c", "exec \"$@\" 7< <(echo B=2)", "bash")
                        .log(log)
                        .start();
        Lab.await(() -> read(log).contains("next in the queue") ? List.of() : List.of(read(log)));
        assertEquals("", lab.docker("ps", "-aq", "--filter=name=next").ok().out());
        assertEquals("", lab.docker("volume", "ls", "-q", "--filter=name=data").ok().out());
        assertFalse(Files.exists(id));
        lab.docker("stop", "train").ok();
        assertTrue(client.waitFor(1, TimeUnit.MINUTES), () -> read(log));
        assertEquals(0, client.exitValue(), () -> read(log));
        String variables = lab.inspect("next", "{{.Config.Env}}");
        assertTrue(variables.contains("A=1") && variables.contains("B=2"), variables);
        assertTrue(Files.exists(id));
    }

    private static String read(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
