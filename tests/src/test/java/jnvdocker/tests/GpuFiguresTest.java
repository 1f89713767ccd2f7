package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Terminal;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** {@code gpu ls} shows what the GPUs do, where NVML reports it. */
@Tag("root")
@Tag("tree")
class GpuFiguresTest {
    private DriverRoot host;
    private TestDaemon daemon;
    private FakeNvml nvml;

    @BeforeEach
    void makeWorld() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
        nvml = FakeNvml.of(host, "a100x8");
        daemon = new TestDaemon(host);
    }

    @AfterEach
    void close() {
        daemon.close();
        host.close();
    }

    private List<String> ls() {
        return daemon.jnvdocker("gpu", "ls").run().ok().out().lines().toList();
    }

    private static void await(BooleanSupplier condition) {
        await(condition, Duration.ofSeconds(30));
    }

    private static void await(BooleanSupplier condition, Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not happen");
            LockSupport.parkNanos(50_000_000);
        }
    }

    @Test
    void tableHasTheFigures() {
        await(() -> ls().getFirst().contains("UTIL"));
        await(() -> ls().get(2).contains("97%"));
        assertEquals(
                "1     GPU-5c1a1003   A100-SXM4-40GB   FREE    -      -           -     97%   "
                        + " 36.0/40 GiB   61 C   391 W   has 36.0/40 GiB in use",
                ls().get(2));
        Command.Result json = daemon.jnvdocker("gpu", "ls", "--json").run().ok();
        assertEquals(97, json.json().path(1).path("figures").path("utilization").asInt());
        nvml.change(text -> text.replace("utilization 97 41", "utilization 12 5"));
        await(() -> ls().get(2).contains("12%"));
    }

    /** A call that hangs in the driver would have the last figures stand for ever. */
    @Test
    void gpuWhoseDriverDoesNotAnswerHasNoFiguresAndTheNoteSaysSince() {
        await(() -> ls().get(2).contains("97%"));
        assertTrue(top().get(2).endsWith("has 36.0/40 GiB in use"), () -> top().toString());
        nvml.add("0000:0f:00.0", "hang nvmlDeviceGetPowerUsage");
        await(
                () -> ls().get(2).matches(".* -  .* driver has not answered since \\d\\d:\\d\\d"),
                Duration.ofMinutes(2));
        assertTrue(ls().get(1).contains("97%"), () -> ls().toString());
        assertEquals(ls().get(2), top().get(2));
        String why = daemon.jnvdocker("gpu", "why", "1").run().ok().out();
        assertTrue(why.contains("\nIts driver has not answered since "), why);
        Command.Result json = daemon.jnvdocker("gpu", "ls", "--json").run().ok();
        assertTrue(json.json().path(1).path("figures").isNull(), json.out());
        nvml.change(text -> text.replace("hang nvmlDeviceGetPowerUsage", ""));
        await(() -> ls().get(2).contains("97%"));
    }

    /** A workstation's desktop has its GPU open all day. */
    @Test
    void programThatOnlyDrawsDoesNotTakeAGpu() throws Exception {
        Path holdopen = host.directory().resolve("holdopen");
        CProgram.put("holdopen", holdopen);
        Process browser = Command.of(holdopen, node(0)).start();
        try {
            await(() -> ls().get(1).contains("UNMANAGED"));
            nvml.add("0000:07:00.0", "graphics " + browser.pid() + " 1000000");
            await(() -> ls().get(1).contains("FREE"));
            daemon.jnvdocker("gpu", "run", "--gpus", "device=0", "true").run().ok();
            nvml.add("0000:07:00.0", "process " + browser.pid() + " 1000000");
            await(() -> ls().get(1).contains("UNMANAGED"));
        } finally {
            browser.destroy();
        }
    }

    @Test
    void topHasTheProcessesOfEachGpu() throws Exception {
        Path holdopen = host.directory().resolve("holdopen");
        CProgram.put("holdopen", holdopen);
        Process held =
                daemon.jnvdocker("gpu", "run", "--gpus", "device=1", "--", holdopen, node(1))
                        .start();
        Process unmanaged = Command.of(holdopen, node(0)).start();
        nvml.add("0000:0f:00.0", "samples\nsample " + held.pid() + " 93");
        nvml.change(text -> text.replace("process 4712 ", "process " + held.pid() + " "));
        try {
            await(() -> top().getLast().contains("93%"));
            List<String> all = top();
            List<String> processes = all.subList(all.indexOf("") + 1, all.size());
            assertTrue(all.getFirst().startsWith("GPU   UUID "), all::toString);
            assertTrue(
                    processes.getFirst().matches("GPU +PID +USER +CONTAINER .* UTIL +MEM +AGE"),
                    all::toString);
            String line = "%d +%d +root +%s +holdopen +%s +\\d+s";
            String program = "holdopen \\(pid " + held.pid() + "\\)";
            assertTrue(
                    processes.get(1).matches(line.formatted(0, unmanaged.pid(), "-", "- +-")),
                    all::toString);
            assertTrue(
                    processes
                            .get(2)
                            .matches(line.formatted(1, held.pid(), program, "93% +35.4 GiB")),
                    all::toString);
            Command.Result json = daemon.jnvdocker("gpu", "top", "--json").run().ok();
            JsonSchemas.check("gpu-top", json.out());
            assertEquals(
                    93,
                    json.json().path(1).findValue("processes").findValue("utilization").asInt());
        } finally {
            held.destroy();
            unmanaged.destroy();
        }
        await(() -> top().getLast().equals("no process uses a GPU"));
    }

    @Test
    void topRefreshesInATerminal() throws Exception {
        Command top = daemon.jnvdocker("gpu", "top").with("TERM", "xterm");
        try (Terminal terminal = new Terminal(top, 120, 24)) {
            terminal.awaitLine("^every 2s: jnvdocker gpu top   .*");
            terminal.awaitLine("^1     GPU-5c1a1003 .* 97% .*");
            nvml.change(text -> text.replace("utilization 97 41", "utilization 12 5"));
            terminal.awaitLine("^1     GPU-5c1a1003 .* 12% .*");
            terminal.type((char) 3);
            assertEquals(130, terminal.exitCode());
        }
        Command once = daemon.jnvdocker("gpu", "top", "--no-stream").with("TERM", "xterm");
        try (Terminal terminal = new Terminal(once, 120, 24)) {
            assertEquals(0, terminal.exitCode(), terminal::written);
        }
    }

    private List<String> top() {
        return daemon.jnvdocker("gpu", "top").run().ok().out().lines().toList();
    }

    private Path node(int gpu) {
        return host.directory().resolve("dev/nvidia" + gpu);
    }

    /** The call is left to itself. */
    @Test
    void hangingLibraryDelaysNothing() throws Exception {
        nvml.add("", "hang nvmlInit_v2");
        assertFalse(ls().getFirst().contains("UTIL"));
        daemon.jnvdocker("gpu", "run", "--gpus", "1", "true").run().ok();
        nvml.change(text -> text.replace("hang nvmlInit_v2", ""));
        await(() -> ls().getFirst().contains("UTIL"));
        nvml.add("0000:07:00.0", "hang nvmlDeviceGetTemperature");
        nvml.change(text -> text.replace("utilization 97 41", "utilization 12 5"));
        await(() -> ls().get(2).contains("12%"));
        daemon.jnvdocker("gpu", "run", "--gpus", "1", "true").run().ok();
        daemon.stop();
    }

    @Test
    void withoutNvmlTheTableIsShort() {
        nvml.unload();
        assertEquals(
                "GPU   UUID           MODEL            STATE   USER   CONTAINER   AGE   NOTE",
                ls().getFirst());
    }
}
