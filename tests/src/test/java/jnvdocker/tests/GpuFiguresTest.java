package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** {@code gpu ls} shows what the GPUs do, where NVML tells it. */
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
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
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
                        + " 36.0/40 GiB   61 C   391 W",
                ls().get(2));
        Command.Result json = daemon.jnvdocker("gpu", "ls", "--json").run().ok();
        assertEquals(97, json.json().path(1).path("figures").path("utilization").asInt());
        nvml.change(text -> text.replace("utilization 97 41", "utilization 12 5"));
        await(() -> ls().get(2).contains("12%"));
    }

    @Test
    void withoutNvmlTheTableIsShort() {
        nvml.unload();
        assertEquals(
                "GPU   UUID           MODEL            STATE   USER   CONTAINER   AGE   NOTE",
                ls().getFirst());
    }
}
