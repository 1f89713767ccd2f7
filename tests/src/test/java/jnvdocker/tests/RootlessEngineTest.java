package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RuntimeProgram;
import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Containers of a podman that runs without root, with our OCI runtime: nothing keeps their
 * processes from nodes that they can see. Root's daemon is not queried, and cannot be.
 */
@Tag("docker")
@Tag("root")
@Attack(
        by = "a user's engine without root",
        what = "requests GPUs, mounts `/dev`, `/`, a node or a link to one, or is privileged",
        result = "refused with one reason; a privileged container starts without any GPU's node")
class RootlessEngineTest {
    private static final String NODES = "/dev/nvidia0 /dev/nvidiactl";

    private static Path directory;
    private static Path runtime;

    @BeforeAll
    static void install() throws IOException {
        directory = Directories.make("rl");
        Command.of("chmod", "755", directory).run().ok();
        Path real = Path.of(Command.of("which", "runc").run().ok().out().strip());
        runtime = new RuntimeProgram(directory, SanitizedClient.runtimeProgram(), real).path();
        Command.of("chmod", "755", runtime).run().ok();
        Files.createSymbolicLink(directory.resolve("devices"), Path.of("/dev"));
        Files.createDirectory(directory.resolve("a & \"b\" {c"));
    }

    @AfterAll
    static void remove() {
        Directories.remove(directory);
    }

    /** Runs a shell's script in a container with these options, which are separated by spaces. */
    private static Command.Result run(String options, String script) {
        List<Object> words = new ArrayList<>();
        words.addAll(List.of(Project.world("rootless"), directory.resolve("p")));
        words.addAll(List.of(Client.podman().program(), runtime));
        words.addAll(Arrays.asList(options.replace("DIRECTORY", directory.toString()).split(" ")));
        words.addAll(List.of("--", "/bin/sh", "-c", script));
        return Command.of(words.toArray()).run();
    }

    private static void assertRefused(Command.Result result) {
        assertTrue(result.exitCode() != 0, result::toString);
        assertTrue(result.err().contains("jnvdocker: "), result::toString);
        assertTrue(result.err().contains("runs without root gets no GPUs"), result::toString);
        assertFalse(result.err().contains("end that process"), result::toString);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--env=NVIDIA_VISIBLE_DEVICES=all",
                "--env=JNVDOCKER_GPUS=1",
                "--annotation=jnvdocker.gpus=1",
                "--privileged --env=NVIDIA_VISIBLE_DEVICES=all",
                "--device=/dev/nvidia0",
                "--device=/dev/dri",
                "--volume=/dev/nvidia0:/x",
                "--volume=/dev:/dev",
                "--volume=DIRECTORY/devices:/x:ro",
                "--volume=/:/host",
            })
    void containerThatAsksForGpusOrBringsTheirNodesIsRefused(String options) {
        assertRefused(run(options, "true"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--env=NVIDIA_VISIBLE_DEVICES=void",
                "--env=NVIDIA_VISIBLE_DEVICES=none",
                "--annotation=jnvdocker.gpus=none",
                "--device=/dev/zero",
                "--volume=DIRECTORY:/x",
            })
    void containerThatAsksForNoneStarts(String options) {
        assertEquals("", run(options, "ls -d " + NODES + " 2> /dev/null || true").ok().out());
    }

    @Test
    void commandMayResembleARequest() {
        run("--env=A=b", "NVIDIA_VISIBLE_DEVICES=all").ok();
    }

    @Test
    void pathOfAMountMayHaveAnyCharacters() {
        List<Object> words = new ArrayList<>();
        words.addAll(List.of(Project.world("rootless"), directory.resolve("p")));
        words.addAll(List.of(Client.podman().program(), runtime));
        words.add("--volume=" + directory.resolve("a & \"b\" {c") + ":/x & \"y\" {");
        words.addAll(List.of("--", "/bin/sh", "-c", "test -d '/x & \"y\" {'"));
        Command.of(words.toArray()).run().ok();
    }

    /** As toolbox and distrobox start theirs. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "--privileged",
                "--privileged --volume=/dev:/dev:rslave --volume=/:/run/host:rslave"
            })
    void privilegedContainerStartsWithoutAnyGpu(String options) {
        String host = options.contains("/run/host") ? " /run/host/dev/nvidia0" : "";
        String out = run(options, "stat -c %t:%T " + NODES + host).ok().out();
        assertEquals(List.of("1:3"), out.lines().distinct().toList(), out);
        // Other nodes are what they are, a screen of another maker too.
        assertEquals(
                "e2:0\n1:7\n", run(options, "stat -c %t:%T /dev/dri/card0 /dev/full").ok().out());
    }

    @Test
    void cdiDeviceIsRefused() {
        assertRefused(
                Command.of(
                                "setpriv",
                                "--reuid=65534",
                                "--regid=65534",
                                "--clear-groups",
                                "unshare",
                                "--user",
                                "--map-root-user",
                                "bash",
                                "-c",
                                "exec -a jnvdocker-cdi-hook \"$0\" createRuntime",
                                runtime)
                        .with("ASAN_OPTIONS", "detect_leaks=0")
                        .input("{\"id\":\"x\",\"pid\":1}")
                        .run());
    }
}
