package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
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
import java.util.Map;

/**
 * Containers that only observe the GPUs, as monitoring starts them, beside jobs that hold the GPUs.
 * Ours is the engine's default runtime.
 */
@Tag("docker")
@Tag("root")
class ObserverTest {
    private static final String ALLOWED = "[runtime]\nobservers = ['monitor', 'user:%s']\n";
    private static final String COMPUTE = "--env=NVIDIA_DRIVER_CAPABILITIES=compute,utility";
    private static final String UTILITY = "--env=NVIDIA_DRIVER_CAPABILITIES=utility";

    private static final DriverRoot HOST = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
    private static FakeNvml nvml;
    private static Lab lab;
    private static RuntimeInstallation runtime;
    private static Path directory;

    @BeforeAll
    static void open() {
        nvml = FakeNvml.of(HOST, "a100x8");
        lab = new Lab(TestEngine.Release.wanted(), HOST);
        runtime = RuntimeInstallation.of(lab, "--default");
        directory = Directories.make("ob");
        CProgram.put("holdopen", directory.resolve("holdopen"));
        lab.engine().image("example/monitor:1.2", "--small");
        lab.engine()
                .image(
                        "example/exporter",
                        "--small",
                        "--env",
                        "NVIDIA_VISIBLE_DEVICES=all",
                        "--env",
                        "NVIDIA_DRIVER_CAPABILITIES=utility,compat32");
    }

    @AfterAll
    static void close() {
        runtime.close();
        lab.close();
        Directories.remove(directory);
    }

    @BeforeEach
    void allow() {
        lab.configure(ALLOWED.formatted("nobody"));
    }

    @AfterEach
    void nothingIsLeft() {
        lab.clear();
        Lab.await(() -> {
            String table = table();
            return table.contains("observed") ? List.of(table) : List.of();
        });
    }

    private static String table() {
        return lab.jnvdocker("gpu", "ls").ok().out();
    }

    private static void awaitHolders(Map<Integer, String> holders) {
        Lab.await(() -> {
            Map<Integer, String> now = lab.registry().holders();
            return now.equals(holders) ? List.of() : List.of("should be " + holders + ": " + now);
        });
    }

    private static Command.Result run(String name, Object... options) {
        List<Object> words =
                new ArrayList<>(List.of("run", "-d", "--name=" + name, "--stop-signal=KILL"));
        words.addAll(Arrays.asList(options));
        if (!words.contains("sleep")) {
            words.addAll(List.of("sleep", "1000"));
        }
        return lab.docker(words.toArray());
    }

    private static void assertObserves(String container) {
        String out =
                lab.docker(
                                "exec",
                                container,
                                "sh",
                                "-c",
                                "ls /dev | grep nvidia | tr '\\n' ' '; mknod /dev/nvidia-uvm c 510"
                                        + " 0; for n in 0 1 2 3 -uvm; do echo $n $(tryopen"
                                        + " /dev/nvidia$n); done; rm /dev/nvidia-uvm; ls"
                                        + " /usr/local/nvidia/bin /run/jnvdocker")
                        .out();
        assertTrue(out.startsWith("nvidia0 nvidia1 nvidia2 nvidia3 nvidiactl 0 ENXIO\n"), out);
        assertTrue(out.contains("3 ENXIO\n-uvm EPERM\n"), out);
        assertTrue(out.contains("nvidia-smi\n"), out);
        assertFalse(out.contains("lease.json"), out);
        assertTrue(table().contains("observed by " + container), ObserverTest::table);
        String leases = lab.jnvdocker("gpu", "leases").ok().out();
        assertTrue(
                leases.contains("container observes all GPUs without a lease: " + container),
                leases);
        JsonNode last = null;
        for (JsonNode lease : lab.jnvdocker("gpu", "leases", "--all", "--json").json()) {
            last = lease;
        }
        assertEquals("observing", last.path("state").asText(), last::toString);
        assertEquals(container, last.path("container_name").asText(), last::toString);
        assertTrue(last.path("lease").isNull() && last.path("gpus").isEmpty(), last::toString);
        String why = lab.jnvdocker("gpu", "why", container).ok().out();
        assertTrue(why.startsWith("Container " + container + " observes all GPUs since "), why);
    }

    /** As the users of such tools write it. */
    private static Command.Result up(String service) throws IOException {
        Path file = directory.resolve("compose.yaml");
        Files.writeString(
                file,
                """
                services:
                  agent:
                    image: example/monitor:1.2
                    container_name: agent
                    command: sleep 1000
                    stop_signal: KILL
                    network_mode: none
                    restart: unless-stopped
                %s\
                """
                        .formatted(service));
        return Client.COMPOSE_2.command(lab, "-f", file, "up", "-d").in(directory).run();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                """
                    deploy:
                      resources:
                        reservations:
                          devices:
                            - driver: nvidia
                              count: all
                              capabilities: [gpu, utility]
                """,
                """
                    environment:
                      NVIDIA_VISIBLE_DEVICES: all
                      NVIDIA_DRIVER_CAPABILITIES: utility
                    deploy:
                      resources:
                        reservations:
                          devices:
                            - capabilities: [gpu]
                """,
                """
                    deploy:
                      resources:
                        reservations:
                          devices:
                            - driver: nvidia
                              count: all
                              capabilities: [gpu]
                """,
                """
                    runtime: nvidia
                    environment: [NVIDIA_VISIBLE_DEVICES=all, NVIDIA_DRIVER_CAPABILITIES=utility]
                """
            })
    void serviceOfComposeObservesBesideJobsOfBeforeAndAfter(String service) throws IOException {
        run("before", "--gpus=device=0", "plain").ok();
        up(service).ok();
        run("after", "--gpus=3", "plain").ok();
        awaitHolders(Map.of(0, "before", 1, "after", 2, "after", 3, "after"));
        assertObserves("agent");
        lab.docker("rm", "-f", "before", "after").ok();
        awaitHolders(Map.of());
        assertObserves("agent");
        // Neither a restart of it nor of the daemon makes it a holder.
        lab.docker("restart", "-t", "0", "agent").ok();
        lab.daemon().stop();
        lab.startDaemon();
        assertObserves("agent");
        lab.docker("rename", "agent", "watcher").ok();
        Lab.await(() ->
                table().contains("observed by watcher") ? List.of() : List.of("its new name"));
        assertObserves("watcher");
        run("after", "--gpus=4", "plain").ok();
        awaitHolders(Map.of(0, "after", 1, "after", 2, "after", 3, "after"));
    }

    /** Else its user would have the nodes of all GPUs unasked. */
    @Test
    void withoutTheAdministratorsWordItHoldsAllGpusOrIsRefused() {
        run("job", "--gpus=device=2", "plain").ok();
        Command.Result refused = run("agent", "--gpus=all", UTILITY, "plain");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(
                refused.err()
                        .contains(
                                "; if it only observes the GPUs, have an administrator add its"
                                        + " image to observers, below [runtime] in the"
                                        + " configuration"),
                refused::toString);
        lab.docker("rm", "-f", "job", "agent").ok();
        run("agent", "--gpus=all", UTILITY, "plain").ok();
        awaitHolders(Map.of(0, "agent", 1, "agent", 2, "agent", 3, "agent"));
        assertFalse(table().contains("observed"), ObserverTest::table);
    }

    /** As the image of dcgm-exporter has it. */
    @Test
    void imageThatObserversNameObservesWhateverItRequestsOfTheDriver() {
        run("job", "--gpus=device=2", "plain").ok();
        run("agent", "--gpus=all", COMPUTE, "example/monitor:1.2").ok();
        assertObserves("agent");
        assertEquals("utility\n", capabilities("agent"));
        lab.docker("rm", "-f", "agent").ok();
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--name=agent",
                        "--gpus=all",
                        "--stop-signal=KILL",
                        "example/monitor:1.2",
                        "sleep",
                        "1000")
                .ok();
        assertObserves("agent");
        assertEquals("utility\n", capabilities("agent"));
        awaitHolders(Map.of(2, "job"));
    }

    private static String capabilities(String container) {
        return lab.docker(
                        "exec",
                        container,
                        "sh",
                        "-c",
                        "tr '\\0' '\\n' < /proc/1/environ | grep CAPABILITIES | cut -d= -f2")
                .ok()
                .out();
    }

    /** The user may observe with any image, and requests more. */
    @Test
    void userWhoMayObserveAndRequestsMoreLearnsHow() {
        run("job", "--gpus=device=2", "plain").ok();
        lab.configure(ALLOWED.formatted("root"));
        Command.Result refused = lab.jnvdocker("run", "--rm", "--gpus=all", "plain", "true");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(
                refused.err()
                        .contains(
                                "; if it only observes the GPUs, have it request the capability"
                                        + " utility alone"
                                        + " (NVIDIA_DRIVER_CAPABILITIES=utility)"),
                refused::toString);
    }

    /** A number of GPUs is for its own use. */
    @Test
    void containerOfTheSameImageThatRequestsSomeIsAHolder() {
        run("agent", "--gpus=4", UTILITY, "example/monitor:1.2").ok();
        awaitHolders(Map.of(0, "agent", 1, "agent", 2, "agent", 3, "agent"));
    }

    /** By {@code jnvdocker run}, which knows its user; an engine does not. */
    @Test
    void userWhoMayObserveDoesSoWithAnyImage() {
        lab.run("job", 1, "--runtime=nvidia");
        lab.configure(ALLOWED.formatted("root"));
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--name=agent",
                        "--gpus=all,capabilities=utility",
                        "--stop-signal=KILL",
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        awaitHolders(Map.of(1, "job"));
        assertObserves("agent");
        lab.docker("restart", "-t", "0", "agent").ok();
        awaitHolders(Map.of(1, "job"));
        assertObserves("agent");
        Command.Result other = run("other", "--gpus=all", UTILITY, "plain");
        assertEquals(125, other.exitCode(), other::toString);
    }

    /** Docker would give it nodes that nothing takes back, and say nothing at its next start. */
    @Test
    void otherRuntimesHaveNoObservers() {
        Command.Result refused =
                lab.jnvdocker(
                        "run",
                        "--runtime=runc",
                        "--gpus=all",
                        UTILITY,
                        "example/monitor:1.2",
                        "true");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(
                refused.err().contains("observe the GPUs (observers), which only jnvdocker's OCI"),
                refused::toString);
    }

    @Test
    void imageThatAsksForUtilityAloneIsEnough() {
        lab.configure("[runtime]\nobservers = ['exporter']\n");
        run("job", "--gpus=device=3", "plain").ok();
        run("agent", "--gpus=all", "example/exporter").ok();
        assertObserves("agent");
        awaitHolders(Map.of(3, "job"));
    }

    /** NVML has the nodes open as well: only memory of a GPU shows that a program uses it. */
    @Test
    void observerThatComputesIsInUnmanagedUse() {
        List<Object> options =
                List.of(
                        "--gpus=all",
                        UTILITY,
                        "--volume=" + directory.resolve("holdopen") + ":/holdopen:ro",
                        "example/monitor:1.2",
                        "sh",
                        "-c",
                        "exec /holdopen /dev/nvidia0 /dev/nvidia1 # sleep");
        List<Object> words = new ArrayList<>(List.of("run", "-d", "--name=agent"));
        words.add("--stop-signal=KILL");
        words.addAll(options);
        lab.docker(words.toArray()).ok();
        run("job", "--gpus=device=1", "plain").ok();
        awaitHolders(Map.of(1, "job"));
        String address = address(0);
        nvml.add(address, "process " + lab.inspect("agent", "{{.State.Pid}}") + " 1000000");
        Lab.await(() -> {
            String table = table();
            return table.lines().anyMatch(line -> line.matches("0 +GPU-.* UNMANAGED .* agent .*"))
                    ? List.of()
                    : List.of(table);
        });
        Command.Result refused = run("other", "--gpus=device=0", "plain");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(refused.err().contains("is used by"), refused::toString);
        lab.docker("rm", "-f", "agent", "other").ok();
        run("next", "--gpus=device=0", "plain").ok();
        awaitHolders(Map.of(0, "next", 1, "job"));
    }

    private static String address(int gpu) {
        return "0000:%02x:00.0".formatted(7 + 8 * gpu);
    }
}
