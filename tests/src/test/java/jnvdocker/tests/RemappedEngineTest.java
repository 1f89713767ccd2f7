package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An engine whose containers have a user namespace, in which their root is a user of the host. */
@Tag("docker")
@Tag("root")
class RemappedEngineTest {
    private static Lab lab;
    private static RuntimeInstallation runtime;

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.wanted(), 2);
        runtime = RuntimeInstallation.of(lab);
        // The containers' root, who is another user now, passes through them.
        for (Path directory = lab.engine().socket().getParent();
                !directory.getFileName().toString().equals("tmp");
                directory = directory.getParent()) {
            Command.of("chmod", "o+x", directory, directory.resolve("data")).run();
        }
        lab.engine().restart("--userns-remap=default");
        // In a user namespace runc makes no nodes: it mounts those that the host has at these
        // paths.
        Path above = lab.engine().socket().resolveSibling("above");
        lab.engine()
                .inside(
                        "sh",
                        "-ec",
                        "mkdir -p $0/upper $0/work; mount -t overlay overlay -o"
                                + " lowerdir=/dev,upperdir=$0/upper,workdir=$0/work /dev;"
                                + " cp -a $1/dev/nvidia* /dev/",
                        above,
                        lab.host().directory())
                .run()
                .ok();
        lab.engine().image("plain", "--small");
        lab.engine().image("bookworm", "--tools", "bookworm");
    }

    @AfterAll
    static void close() {
        lab.close();
        runtime.close();
    }

    @AfterEach
    void nothingIsLeft() {
        lab.clear();
    }

    /** Starts a container by the volume of its claim, or by our OCI runtime. */
    private static Command start(String way, String name) {
        return way.equals("jnvdocker")
                ? lab.gpuContainer("run", name, 0, "--runtime=runc")
                : lab.engine()
                        .docker(
                                "run",
                                "-d",
                                "--name",
                                name,
                                "--runtime=nvidia",
                                "--gpus=device=0",
                                "--stop-signal=KILL",
                                "plain",
                                "sleep",
                                "1000");
    }

    private static void awaitHolder(String container) {
        Lab.await(() -> {
            Map<Integer, String> holders = lab.registry().holders();
            return holders.equals(Map.of(0, container)) ? List.of() : List.of("held: " + holders);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"jnvdocker", "docker"})
    void leaseLastsAsLongAsTheContainer(String way) {
        start(way, "train").run().ok();
        awaitHolder("train");
        assertTrue(
                lab.docker("exec", "train", "cat", "/proc/self/uid_map")
                        .ok()
                        .out()
                        .contains(" 100000 "));
        for (int restarts = 0; restarts < 2; restarts++) {
            Command.Result other = start("jnvdocker", "other").run();
            assertEquals(125, other.exitCode(), other::toString);
            assertTrue(other.err().contains("container train"), other::toString);
            lab.daemon().kill();
            lab.startDaemon();
            awaitHolder("train");
        }
        lab.docker("kill", "train").ok();
        start("jnvdocker", "other").run().ok();
        awaitHolder("other");
    }

    /** Its processes and mounts are evidence although they are in a user namespace. */
    @ParameterizedTest
    @ValueSource(strings = {"jnvdocker", "docker"})
    void leaseIsRestoredWhenTheRegistryIsLost(String way) throws IOException {
        start(way, "train").run().ok();
        awaitHolder("train");
        lab.daemon().kill();
        for (String file : List.of("registry.db", "registry.db-wal", "registry.db-shm")) {
            Files.deleteIfExists(lab.daemon().state().resolve(file));
        }
        lab.startDaemon();
        Command.Result other = start("jnvdocker", "other").run();
        assertEquals(125, other.exitCode(), other::toString);
        awaitHolder("train");
    }

    @ParameterizedTest
    @ValueSource(strings = {"jnvdocker", "docker"})
    void containerOpensItsGpuAlone(String way) {
        start(way, "train").run().ok();
        String script =
                "for n in 0 1; do [ -e /dev/nvidia$n ] || mknod /dev/nvidia$n c 195 $n 2>"
                        + " /dev/null; echo $n $(tryopen /dev/nvidia$n); done";
        assertEquals(
                "0 ENXIO\n1 ENOENT\n", lab.docker("exec", "train", "sh", "-c", script).ok().out());
    }

    @Test
    void programsFindTheDriverWithoutVariables() {
        List<Object> words =
                new ArrayList<>(List.of("run", "--rm", "--runtime=nvidia", "--gpus=1"));
        words.addAll(
                List.of(
                        "bookworm",
                        "sh",
                        "-c",
                        "env -i /usr/local/bin/dlopen libcuda.so.1; ldconfig;"
                                + " env -i /usr/local/bin/dlopen libcuda.so.1;"
                                + " stat -c %u /usr/lib/x86_64-linux-gnu/libcuda.so.1"));
        assertEquals(
                "ok libcuda.so.1\nok libcuda.so.1\n0\n", lab.docker(words.toArray()).ok().out());
    }
}
