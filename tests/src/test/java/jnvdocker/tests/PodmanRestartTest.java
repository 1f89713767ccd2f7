package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Podman;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * What {@link RestartMatrixTest} shows of Docker, of podman with our OCI runtime: somebody waits
 * for a container's GPU, another's is cordoned, a third's is booked.
 */
@Tag("docker")
@Tag("root")
class PodmanRestartTest {
    private static final int OTHER = 61002;
    private static final Map<Integer, String> HOLDERS =
            Map.of(0, "waiter", 1, "cordon", 3, "booking");

    private static Lab lab;
    private static Path directory;
    private static Podman podman;
    private static Process waiting;

    /** Who restarts the containers. */
    private enum Restart {
        COMMAND,
        POLICY,
        DAEMON_KILLED
    }

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.wanted());
        directory = Directories.make("pr");
        podman = new Podman(lab, Client.podman(), directory);
        podman.installRuntime(lab);
        HOLDERS.forEach((gpu, name) -> {
            String node = "/dev/nvidia" + gpu;
            podman.start(
                            name,
                            "--runtime=nvidia",
                            "--restart=always",
                            "--device="
                                    + lab.host().directory().resolve(node.substring(1))
                                    + ":"
                                    + node)
                    .ok();
        });
        waiting =
                lab.daemon()
                        .jnvdocker("gpu", "run", "--gpu-wait", "--gpus=device=0", "sleep", "1000")
                        .start();
        Lab.await(() -> lab.registry().tickets() == 1 ? List.of() : List.of("nobody waits"));
        lab.configure("bookings = 'end'\n");
        lab.jnvdocker("gpu", "cordon", 1).ok();
        lab.as(OTHER, "gpu", "book", "3", "--from", "tomorrow 23:58", "--for", "1m").run().ok();
    }

    @AfterAll
    static void close() {
        waiting.destroyForcibly();
        podman.remove(HOLDERS.values().toArray(String[]::new));
        lab.jnvdocker("runtime", "uninstall", "--engine=podman").ok();
        lab.close();
        Directories.remove(directory);
    }

    @ParameterizedTest
    @EnumSource
    void restartKeepsItsGpusWhoeverWantsThem(Restart restart) {
        Map<String, String> before = pids();
        switch (restart) {
            case COMMAND -> restart().ok();
            case POLICY ->
                    before.values().forEach(pid -> Command.of("kill", "-KILL", pid).run().ok());
            case DAEMON_KILLED -> {
                var restarted = CompletableFuture.supplyAsync(PodmanRestartTest::restart);
                lab.daemon().kill();
                // Before the tests that run beside this one.
                lab.daemon().jnvdocker("gpu", "ls").after("nice", "-n", "-15").run().ok();
                restarted.join().ok();
            }
        }
        Lab.await(() -> {
            Map<String, String> now = pids();
            Map<Integer, String> holders = lab.registry().holders();
            return holders.equals(HOLDERS) && areOthers(before, now)
                    ? List.of()
                    : List.of(holders + " with " + now);
        });
        assertEquals(1, lab.registry().tickets());
        assertTrue(waiting.isAlive());
        HOLDERS.forEach((gpu, name) ->
                podman.command("exec", name, "test", "-c", "/dev/nvidia" + gpu).run().ok());
    }

    private static Command.Result restart() {
        return podman.command("restart", "-t", "0", "waiter", "cordon", "booking").run();
    }

    private static boolean areOthers(Map<String, String> before, Map<String, String> now) {
        return now.keySet().equals(Set.copyOf(HOLDERS.values()))
                && before.entrySet().stream()
                        .noneMatch(each -> each.getValue().equals(now.get(each.getKey())));
    }

    /** The first processes, by containers that run. */
    private static Map<String, String> pids() {
        Map<String, String> pids = new TreeMap<>();
        podman.command("inspect", "-f", "{{.Name}} {{.State.Pid}}", "waiter", "cordon", "booking")
                .run()
                .out()
                .lines()
                .map(line -> line.split(" "))
                .filter(words -> words.length == 2 && !words[1].equals("0"))
                .forEach(words -> pids.put(words[0], words[1]));
        return pids;
    }
}
