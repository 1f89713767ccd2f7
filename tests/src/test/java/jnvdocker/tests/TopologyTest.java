package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * NVML says which GPUs are near each other and how much memory they have, and GPUs are given so.
 */
@Tag("root")
@Tag("tree")
class TopologyTest {
    private DriverRoot host;
    private TestDaemon daemon;
    private FakeNvml nvml;
    private final List<Process> programs = new ArrayList<>();

    @BeforeEach
    void makeWorld() throws IOException {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 8);
        nvml = FakeNvml.of(host, "a100x8");
        for (Gpu gpu : HostDriver.read(Host.at(host.directory())).gpus()) {
            String device = "sys/bus/pci/devices/" + gpu.pciAddress() + "/";
            host.write(device + "numa_node", gpu.index() < 4 ? "0\n" : "1\n");
            host.write(device + "local_cpulist", gpu.index() < 4 ? "0-31\n" : "32-63\n");
        }
        daemon = new TestDaemon(host);
    }

    @AfterEach
    void close() {
        programs.forEach(Process::destroy);
        daemon.close();
        host.close();
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not happen");
            LockSupport.parkNanos(50_000_000);
        }
    }

    private List<String> topology() {
        return daemon.jnvdocker("gpu", "ls", "--topology").run().ok().out().lines().toList();
    }

    private boolean isHeld(int gpu) {
        return topology().get(gpu + 1).contains(" HELD ");
    }

    /** A program that keeps its GPUs. */
    private void start(String gpus, int... expected) {
        programs.add(daemon.jnvdocker("gpu", "run", "--gpus", gpus, "sleep", "60").start());
        for (int gpu : expected) {
            await(() -> isHeld(gpu));
        }
    }

    private String refusal(String gpus) {
        Command.Result result = daemon.jnvdocker("gpu", "run", "--gpus", gpus, "true").run();
        assertEquals(125, result.exitCode(), result::err);
        return result.err().strip();
    }

    @Test
    void gpusAreGivenAsNvmlKnowsThem() throws Exception {
        await(() ->
                topology().stream().noneMatch(line -> line.contains("?"))
                        && topology().getLast().startsWith("NV#"));
        start("1", 0);
        // It gets neither the rest of a pair nor two of different pairs.
        start("2,memory=40G", 2, 3);
        assertEquals(
                List.of(
                        "GPU   0      1      2      3      4      5      6      7      CPUS    NUMA"
                                + "   STATE   USER   CONTAINER",
                        "1     NV12   X      NV12   NV12   NV12   NV12   NV12   NV12   0-31    0   "
                                + "   FREE    -      -",
                        "4     NV12   NV12   NV12   NV12   X      NV12   NV12   NV12   32-63   1   "
                                + "   FREE    -      -",
                        "",
                        "X      the GPU itself",
                        "NV#    through # NVLinks"),
                topology().stream().filter(line -> !line.contains(" HELD ")).toList().stream()
                        .filter(line -> !line.matches("[567] .*"))
                        .toList());
        Command.Result json = daemon.jnvdocker("gpu", "ls", "--topology", "--json").run().ok();
        JsonSchemas.check("gpu-ls-topology", json.out());
        assertEquals(
                "jnvdocker: 1 GPU of model a100 with at least 80 GB of memory requested, but this"
                        + " host has none; request others ('jnvdocker gpu ls' shows them)",
                refusal("memory=80G,model=a100"));
        nvml.unload();
        await(() ->
                topology().getLast().startsWith("NVML does not report how the GPUs are connected"));
        assertEquals(
                "jnvdocker: 2 GPUs with at least 40 GB of memory requested, but NVML does not"
                    + " report the memory of GPUs 0-7; try again in a minute, or name a model or"
                    + " GPUs ('jnvdocker gpu ls' shows them)",
                refusal("count=2,memory=40G"));
        start("2,model=A100", 1, 4);
    }
}
