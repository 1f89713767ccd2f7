package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Restarts of containers that our OCI runtime creates, on an engine whose real runtime takes a
 * while to delete a container, as it does on a slow disk or with many mounts: others wait for their
 * GPUs meanwhile.
 */
class RuntimeRestartTest extends OneEngineTest {
    private static final int ALICE = 61001;
    private static final int CRASHES = 6;

    private static RuntimeInstallation runtime;
    private static Path directory;

    private Optional<Process> waiting = Optional.empty();

    /** How a container comes to our runtime. */
    private enum Way {
        NAMED("docker", "--runtime=nvidia"),
        DEFAULT("docker"),
        CLIENT("jnvdocker");

        final String program;
        final List<String> options;

        Way(String program, String... options) {
            this.program = program;
            this.options = List.of(options);
        }
    }

    @BeforeAll
    static void install() throws IOException {
        directory = Directories.make("slow");
        Path real = directory.resolve("runc");
        Files.writeString(
                real,
                """
                #!/bin/sh
                case " $* " in *" delete "*) sleep 0.4;; esac
                exec runc "$@"
                """);
        Command.of("chmod", "755", directory, real).run().ok();
        runtime = RuntimeInstallation.of(lab, "--default", "--real", real);
    }

    @AfterAll
    static void uninstall() {
        runtime.close();
        Directories.remove(directory);
    }

    @AfterEach
    void nobodyWaits() throws InterruptedException {
        if (waiting.isPresent()) {
            waiting.get().destroy();
            waiting.get().waitFor();
        }
        for (int gpu = 0; gpu < 4; gpu++) {
            lab.jnvdocker("gpu", "uncordon", gpu);
        }
    }

    private static void start(Way way, String name, String gpus, String policy, Object... command) {
        List<Object> words = new ArrayList<>(List.of("run", "-d", "--name=" + name));
        words.addAll(way.options);
        words.addAll(
                List.of("--gpus=" + gpus, "--restart=" + policy, "--stop-signal=KILL", "plain"));
        words.addAll(Arrays.asList(command));
        if (way.program.equals("docker")) {
            lab.docker(words.toArray()).ok();
        } else {
            lab.jnvdocker(words.toArray()).ok();
        }
    }

    private static void cordon(int... gpus) {
        for (int gpu : gpus) {
            lab.jnvdocker("gpu", "cordon", gpu);
        }
    }

    /** Somebody waits for any GPU. */
    private void await() {
        waiting =
                Optional.of(
                        lab.daemon()
                                .jnvdocker("gpu", "run", "--gpu-wait", "--gpus=1", "sleep", "1000")
                                .start());
        Lab.await(() ->
                lab.jnvdocker("gpu", "queue", "--json").json().size() == 1
                        ? List.of()
                        : List.of("nobody waits"));
    }

    private static void assertHeldBy(Map<Integer, String> holders) {
        assertEquals(holders, lab.registry().holders());
    }

    @ParameterizedTest
    @EnumSource
    void restartKeepsItsGpu(Way way) {
        cordon(1, 2, 3);
        start(way, "train", "1", "no", "sleep", "1000");
        await();
        for (int i = 0; i < 3; i++) {
            lab.docker("restart", "-t", "0", "train").ok();
            assertHeldBy(Map.of(0, "train"));
        }
        cordon(0);
        lab.docker("restart", "-t", "0", "train").ok();
        assertHeldBy(Map.of(0, "train"));

        lab.jnvdocker("gpu", "uncordon", 0);
        lab.docker("stop", "train").ok();
        Lab.await(() ->
                lab.registry().holders().equals(Map.of(0, "?"))
                        ? List.of()
                        : List.of("" + lab.registry().holders()));
    }

    /** Docker waits for 100 ms, 200 ms, 400 ms and so on before the next start. */
    @ParameterizedTest
    @EnumSource
    void crashLoopKeepsItsGpu(Way way) {
        cordon(1, 2, 3);
        start(way, "train", "1", "always", "sleep", "1");
        await();
        Lab.await(() ->
                Integer.parseInt(lab.inspect("train", "{{.RestartCount}}")) >= CRASHES
                        ? List.of()
                        : List.of("too few restarts"));
        assertHeldBy(Map.of(0, "train"));
        assertTrue(lab.docker("logs", "train").ok().err().isEmpty(), "no start was refused");

        lab.docker("rm", "-f", "train").ok();
        Lab.await(() ->
                lab.registry().holders().equals(Map.of(0, "?"))
                        ? List.of()
                        : List.of("" + lab.registry().holders()));
    }

    @Test
    void bothOfAPairKeepTheirGpu() {
        cordon(1, 2, 3);
        lab.startAs(ALICE, "train", "1").run().ok();
        lab.startAs(ALICE, "eval", "with=train").run().ok();
        lab.awaitSharers(Map.of(0, "train and eval"));
        await();
        for (String name : List.of("eval", "train", "eval")) {
            lab.docker("restart", "-t", "0", name).ok();
        }
        lab.awaitSharers(Map.of(0, "train and eval"));
    }
}
