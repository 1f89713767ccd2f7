package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** A GPU whose driver reports a serious error is given to nobody until it was reset. */
@Tag("root")
@Tag("tree")
class SickGpuTest {
    private static final String WHY = "Xid 95 (an uncorrected, uncontained memory error)";

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

    private Command.Result gpu(String... arguments) {
        List<String> words = new ArrayList<>(List.of("gpu"));
        words.addAll(List.of(arguments));
        return daemon.jnvdocker(words.toArray()).run();
    }

    private String line(int gpu) {
        return gpu("ls").ok().out().lines().toList().get(1 + gpu);
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not happen");
            LockSupport.parkNanos(50_000_000);
        }
    }

    /** Waits until a server listens. */
    private void report(String address, int gpu) {
        await(() -> {
            nvml.add(address, "xid 95");
            LockSupport.parkNanos(200_000_000);
            return line(gpu).contains("Xid 95");
        });
    }

    @Test
    void errorThatIsReportedTakesTheGpuOutOfServiceUntilRootTakesItBack() throws Exception {
        await(() -> gpu("ls").ok().out().contains("UTIL"));
        Process holder =
                daemon.jnvdocker("gpu", "run", "--gpus", "device=0", "--", "sleep", "1000").start();
        await(() -> line(0).contains("HELD"));
        report("0000:07:00.0", 0);
        report("0000:0f:00.0", 1);
        assertTrue(line(0).contains("HELD"), line(0));
        assertTrue(line(1).contains("SICK"), line(1));

        Command.Result named = gpu("run", "--gpus", "device=1", "true");
        assertEquals(125, named.exitCode());
        assertEquals(
                "jnvdocker: GPU 1 (GPU-5c1a1003) cannot be given out: "
                        + WHY
                        + "; stop jnvdockerd and reset it (nvidia-smi --gpu-reset), or restart the"
                        + " host\n",
                named.err());
        assertTrue(
                gpu("run", "--gpus", "4", "true").err().contains("GPUs 0,1 are sick"),
                "two of four");
        assertTrue(gpu("why", "1").ok().out().contains(WHY), "the reason");
        assertTrue(gpu("why", "0").ok().out().contains("after this holder"), "the holder stays");
        assertTrue(
                gpu("doctor").out().contains("GPU 1 (GPU-5c1a1003) cannot be given out"), "doctor");

        daemon.stop();
        assertTrue(line(1).contains("SICK"), "the report outlives the daemon");
        gpu("uncordon", "1").ok();
        gpu("run", "--gpus", "device=1", "true").ok();
        holder.destroy();
    }

    /** As docker's {@code -v /dev/nvidia0:…} makes one while the driver is not loaded. */
    @Test
    void gpuWhoseNodeIsSomethingElseIsShownAndNotChosen() throws IOException {
        Path node = host.directory().resolve("dev/nvidia0");
        Files.delete(node);
        Files.createDirectory(node);
        String why = node + " is not the character device 195:0 that the driver has now";
        gpu("run", "--gpus", "3", "true").ok();
        assertTrue(line(0).contains("SICK"), line(0));
        assertTrue(gpu("why", "0").ok().out().contains(why), "the reason");
        Command.Result named = gpu("run", "--gpus", "device=0", "true");
        assertTrue(named.err().contains(why + "; remove it, it is made again"), named.err());
        Files.delete(node);
        gpu("run", "--gpus", "4", "true").ok();
        assertTrue(line(0).contains("FREE"), line(0));
    }
}
