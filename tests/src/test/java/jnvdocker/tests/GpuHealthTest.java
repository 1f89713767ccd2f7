package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.nvml.Fault;
import jnvdocker.nvml.GpuHealth;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.nvml.GpuMonitor.Pace;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** A GPU with a fault is known to have it until there is evidence that it has none any more. */
class GpuHealthTest {
    private static final Pace QUICK =
            new Pace(
                    Duration.ofMillis(20),
                    Duration.ofMillis(20),
                    Duration.ofSeconds(60),
                    Duration.ofMinutes(10),
                    Duration.ofSeconds(30));
    private static final Gpu A100 =
            new Gpu(0, "GPU-5c1a0000-61a1-4d0c-9a55-2b6d2c3c0000", 0, "0000:07:00.0", "an A100");
    private static final Gpu OTHER =
            new Gpu(1, "GPU-5c1a1003-61a1-4d0c-9a55-2b6d2c3c0001", 1, "0000:0f:00.0", "an A100");

    /** A monitor that was closed may still write there; the run removes it at its end. */
    @TempDir(cleanup = CleanupMode.NEVER)
    private Path directory;

    private final World world = new World();
    private GpuHealth health;
    private GpuMonitor monitor;
    private FakeNvml fake;

    private static final class World implements GpuMonitor.Source {
        private volatile Optional<Path> library = Optional.empty();
        private volatile List<Gpu> gpus = List.of(A100, OTHER);
        private volatile String load = "1";

        @Override
        public Optional<Path> library() {
            return library;
        }

        @Override
        public List<Gpu> gpus() {
            return gpus;
        }

        @Override
        public String load() {
            return load;
        }
    }

    private void install() {
        fake = FakeNvml.in(directory, "a100x8");
        world.library = Optional.of(fake.library());
    }

    private void start(String boot) {
        health = GpuHealth.keptIn(directory.resolve("gpu-errors"), boot);
        monitor = new GpuMonitor(world, QUICK, health).start();
        await(() -> answered() == 2);
    }

    /** Until the events are listened for, too. */
    private void report(Gpu gpu, int xid) {
        await(() -> {
            fake.add(gpu.pciAddress(), "xid " + xid);
            LockSupport.parkNanos(100_000_000);
            return health.of(gpu).isPresent();
        });
    }

    @AfterEach
    void close() {
        monitor.close();
    }

    private String trouble(Gpu gpu) {
        return health.of(gpu).map(Refusal::what).orElse("");
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not happen");
            LockSupport.parkNanos(5_000_000);
        }
    }

    private void awaitTrouble(String what) {
        await(() -> trouble(A100).equals(what));
        assertEquals("", trouble(OTHER));
    }

    private long answered() {
        return monitor.readings().values().stream()
                .filter(reading -> reading.figures().isPresent())
                .count();
    }

    @Test
    void lostGpuIsBackWhenItAnswersAgain() {
        install();
        start("boot");
        assertEquals("", trouble(A100));
        fake.add(A100.pciAddress(), "error nvmlDeviceGetTemperature 15");
        awaitTrouble("NVML says 'GPU is lost'");
        fake.change(text -> text.replace("error nvmlDeviceGetTemperature 15", ""));
        awaitTrouble("");
    }

    @Test
    void seriousXidCountsUntilTheGpuHasBeenSilentAndAnswersAgain() {
        install();
        start("boot");
        report(A100, 119);
        awaitTrouble("Xid 119 (its GSP does not answer)");
        assertEquals(
                119, ((Fault.Reported) health.all().get(A100.uuid()).faults().getFirst()).xid());
        fake.add(A100.pciAddress(), "error nvmlDeviceGetTemperature 16");
        awaitTrouble("NVML says 'GPU requires reset'");
        fake.change(text -> text.replace("error nvmlDeviceGetTemperature 16", ""));
        awaitTrouble("");
    }

    /** Facts about a GPU from scans are some seconds old. */
    @Test
    void beginningAndEndOfAFaultAreReported() {
        install();
        start("boot");
        AtomicInteger notices = new AtomicInteger();
        health.addListener(notices::incrementAndGet);
        report(A100, 119);
        await(() -> notices.get() > 0);
        int reported = notices.get();
        fake.add(A100.pciAddress(), "error nvmlDeviceGetTemperature 16");
        await(() -> notices.get() == reported + 1);
        fake.change(text -> text.replace("error nvmlDeviceGetTemperature 16", ""));
        awaitTrouble("");
        assertEquals(reported + 2, notices.get());
    }

    @Test
    void xidOfAProgramIsNoFault() {
        install();
        start("boot");
        report(OTHER, 74);
        fake.add(A100.pciAddress(), "xid 31\nxid 13\nxid 61");
        await(() -> health.all().get(A100.uuid()).otherXid().equals(OptionalInt.of(61)));
        assertEquals("", trouble(A100));
    }

    @Test
    void doubleBitErrorCountsUntilTheCountersAreSetBack() {
        install();
        fake.change(text -> text.replaceFirst("ecc-errors .*", "ecc-errors 0 2"));
        start("boot");
        await(() -> {
            fake.add(A100.pciAddress(), "double-bit-error");
            LockSupport.parkNanos(100_000_000);
            return health.of(A100).isPresent();
        });
        awaitTrouble("Xid 48 (a double-bit memory error)");
        fake.change(text -> text.replaceFirst("ecc-errors .*", "ecc-errors 0 0"));
        awaitTrouble("");
    }

    @Test
    void rowThatWaitsForAResetIsAFaultUntilThat() {
        install();
        fake.change(text -> text.replaceFirst("remapped .*", "remapped 0 1 1 0"));
        start("boot");
        awaitTrouble("a page or row of its memory waits to be taken out of use");
        report(A100, 94);
        fake.change(text -> text.replaceFirst("remapped .*", "remapped 0 1 0 0"));
        awaitTrouble("");
    }

    @Test
    void reportOutlivesTheDaemonAndNotTheLoadOfTheDriver() throws Exception {
        install();
        start("boot");
        report(A100, 95);
        Path file = directory.resolve("gpu-errors");
        await(() -> Files.exists(file));
        monitor.close();
        start("boot");
        awaitTrouble("Xid 95 (an uncorrected, uncontained memory error)");
        world.load = "2";
        awaitTrouble("");
        await(() -> file.toFile().length() == 0);
    }

    @Test
    void reportDoesNotOutliveTheBoot() {
        install();
        start("boot");
        report(A100, 95);
        await(() -> Files.exists(directory.resolve("gpu-errors")));
        monitor.close();
        start("the next boot");
        assertEquals("", trouble(A100));
    }

    @Test
    void gpuThatTheDriverShowsAgainWasInitializedAgain() {
        install();
        start("boot");
        report(A100, 62);
        world.gpus = List.of(OTHER);
        await(() -> health.all().size() == 1);
        world.gpus = List.of(A100, OTHER);
        await(() -> health.all().size() == 2);
        assertEquals("", trouble(A100));
    }

    @Test
    void rootMaySayThatTheGpuWasReset() {
        install();
        start("boot");
        report(A100, 74);
        health.clearReportedFault(A100);
        awaitTrouble("");
    }

    @Test
    void hangingGpuDelaysNoErrorOfAnother() {
        install();
        start("boot");
        fake.add(OTHER.pciAddress(), "hang nvmlEventSetWait_v2\nhang nvmlDeviceGetTemperature");
        report(A100, 120);
        awaitTrouble("Xid 120 (an error of its GSP)");
        fake.change(text -> text.replaceAll("hang .*", ""));
    }
}
