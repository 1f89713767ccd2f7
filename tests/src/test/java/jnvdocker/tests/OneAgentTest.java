package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.MesosAgent;
import jnvdocker.tests.world.MesosContainer;
import jnvdocker.tests.world.MesosTask;
import jnvdocker.tests.world.ProcessGroups;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A Mesos agent and a daemon on a host with four GPUs, for all tests of a class; each test leaves
 * nothing behind.
 */
@Tag("root")
abstract class OneAgentTest {
    static DriverRoot host;
    static TestDaemon daemon;
    static MesosAgent agent;

    @BeforeAll
    static void open() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
        daemon = new TestDaemon(host);
        startDaemon();
        agent = MesosAgent.installedBy(daemon);
    }

    @AfterAll
    static void close() {
        agent.close();
        ProcessGroups.awaitNone(daemon);
        daemon.close();
        host.close();
    }

    @AfterEach
    void nothingIsLeft() {
        agent.clear();
        startDaemon();
        awaitStates("ffff");
    }

    /** Returns once the daemon serves. */
    static void startDaemon() {
        jnvdocker("gpu", "ls").ok();
    }

    static Command.Result jnvdocker(Object... arguments) {
        return daemon.jnvdocker(arguments).run();
    }

    static void configure(String toml) {
        daemon.config(toml);
        jnvdocker("gpu", "reload").ok();
    }

    static String uuid(int gpu) {
        return "GPU-%08x-1d2c-4e5f-8a9b-0123456789%02x".formatted(0x5c1a0000 + 4099 * gpu, gpu);
    }

    static JsonNode gpus() {
        return json("gpu", "ls", "--json");
    }

    static JsonNode leases() {
        return json("gpu", "leases", "--json");
    }

    private static JsonNode json(Object... arguments) {
        return jnvdocker(arguments).json();
    }

    /** The first letter of each state, of GPUs 0 to 3. */
    static String states() {
        StringBuilder now = new StringBuilder();
        gpus().findValuesAsText("state").forEach(state -> now.append(state.charAt(0)));
        return now.toString();
    }

    static void awaitStates(String letters) {
        Lab.await(() -> {
            String now = states();
            return now.equals(letters) ? List.of() : List.of("states are " + now);
        });
    }

    /** Launches a task that runs until it is ended, and returns once it runs. */
    static MesosContainer lasting(MesosTask task) {
        return agent.launch(task).awaitLine("up");
    }

    /** A task with that many GPUs that runs until it is ended. */
    static MesosTask sleeper(double gpus) {
        return MesosTask.of("echo up; sleep 1000").gpus(gpus).needsDriver();
    }

    /** Waits until the hook is connected to the daemon, which shows as an open socket. */
    static void awaitQuestion(MesosContainer container) {
        Lab.await(() -> {
            String pid = "$(cat " + container.runtime().resolve("pid") + " 2> /dev/null)";
            String find = "ls -l /proc/" + pid + "/fd 2> /dev/null | grep -c socket: || true";
            return Command.of("sh", "-c", find).run().out().equals("1\n")
                    ? List.of()
                    : List.of(container.path() + " sends no request");
        });
    }

    /** Asserts that the task succeeds, and returns its output. */
    static List<String> lines(MesosTask task) {
        return lines(agent.run(task));
    }

    static List<String> lines(Command.Result result) {
        return result.ok().out().lines().toList();
    }

    static void assertRefused(String reason, MesosTask task) {
        assertRefused(reason, agent.run(task));
    }

    /**
     * Asserts that the task's user gets the reason exactly once, and that no part of the task has
     * run.
     */
    static void assertRefused(String reason, Command.Result result) {
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals("", result.out(), result::toString);
        assertEquals(List.of("jnvdocker: " + reason), remarks(result.err()), result::toString);
    }

    /** Our messages, without those of Mesos' helper. */
    static List<String> remarks(String err) {
        return err.lines().filter(line -> line.startsWith("jnvdocker: ")).toList();
    }

    /** The GPUs that a container's devices cgroup allows, in order. */
    static List<String> gpuRules(MesosContainer container) {
        return read(container.cgroup("devices").resolve("devices.list"))
                .lines()
                .filter(line -> line.startsWith("c 195:") && !line.startsWith("c 195:255 "))
                .sorted()
                .toList();
    }

    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
