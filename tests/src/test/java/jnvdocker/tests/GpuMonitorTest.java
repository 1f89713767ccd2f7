package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.nvml.GpuHealth;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.nvml.GpuMonitor.Pace;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;
import jnvdocker.nvml.Topology.Ancestor;
import jnvdocker.tests.world.FakeNvml;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/** The monitor reports the newest facts of each GPU, whatever NVML does meanwhile. */
class GpuMonitorTest {
    private static final Pace QUICK =
            new Pace(
                    Duration.ofMillis(20),
                    Duration.ofMillis(50),
                    Duration.ofSeconds(60),
                    Duration.ofMillis(200),
                    Duration.ofSeconds(2));

    @TempDir private Path directory;

    private final World world = new World();
    private GpuMonitor monitor;
    private FakeNvml fake;

    private static final class World implements GpuMonitor.Source {
        private volatile Optional<Path> library = Optional.empty();
        private volatile List<Gpu> gpus = List.of();
        private volatile Set<String> asleep = Set.of();

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
            return "1";
        }

        @Override
        public boolean isAsleep(String pciAddress) {
            return asleep.contains(pciAddress);
        }
    }

    @AfterEach
    void close() {
        monitor.close();
    }

    private void start(String machine, String... addresses) {
        fake = FakeNvml.in(directory, machine);
        world.gpus = gpus(addresses);
        world.library = Optional.of(fake.library());
        monitor = new GpuMonitor(world, QUICK, health()).start();
    }

    private GpuHealth health() {
        return GpuHealth.keptIn(directory.resolve("gpu-errors"), "a boot");
    }

    private static List<Gpu> gpus(String... addresses) {
        return IntStream.range(0, addresses.length)
                .mapToObj(i -> new Gpu(i, "GPU-" + i, i, addresses[i], "a GPU"))
                .toList();
    }

    private Optional<Reading> reading(String address) {
        return Optional.ofNullable(monitor.readings().get(address));
    }

    private OptionalInt temperature(String address) {
        return reading(address)
                .flatMap(Reading::figures)
                .map(figures -> figures.temperature())
                .orElse(OptionalInt.empty());
    }

    private String trouble(String address) {
        return reading(address).flatMap(Reading::trouble).orElse("");
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not happen");
            LockSupport.parkNanos(5_000_000);
        }
    }

    private void awaitTemperature(String address, int celsius) {
        await(() -> temperature(address).equals(OptionalInt.of(celsius)));
    }

    /** A question would switch it on. */
    @Test
    void gpuThatSleepsIsNotQueried() {
        String awake = "0000:07:00.0";
        String asleep = "0000:0f:00.0";
        world.asleep = Set.of(asleep);
        start("a100x8", awake, asleep);
        await(() -> temperature(awake).isPresent() && trouble(asleep).equals("it sleeps"));
        assertTrue(temperature(asleep).isEmpty());
        world.asleep = Set.of(awake);
        await(() -> temperature(asleep).isPresent() && trouble(awake).equals("it sleeps"));
    }

    @Test
    void changesAreReported() {
        start("t4", "0000:00:1e.0");
        awaitTemperature("0000:00:1e.0", 33);
        fake.change(text -> text.replace("temperature 33", "temperature 71"));
        awaitTemperature("0000:00:1e.0", 71);
        assertEquals(
                "Tesla T4", reading("0000:00:1e.0").flatMap(Reading::facts).orElseThrow().model());
    }

    @Test
    void lostGpuComesBack() {
        start("sick", "0000:07:00.0", "0000:0f:00.0", "0000:47:00.0");
        awaitTemperature("0000:07:00.0", 27);
        await(() -> trouble("0000:0f:00.0").equals("GPU is lost"));
        await(() -> trouble("0000:47:00.0").equals("GPU requires reset"));
        fake.change(
                text -> text.replace("error nvmlDeviceGetUtilizationRates 16", "temperature 30"));
        awaitTemperature("0000:47:00.0", 30);
        assertEquals("", trouble("0000:47:00.0"));
    }

    @Test
    void callThatHangsDelaysNoOtherGpu() {
        start("a100x8", "0000:07:00.0", "0000:0f:00.0");
        awaitTemperature("0000:07:00.0", 61);
        awaitTemperature("0000:0f:00.0", 61);
        fake.add("0000:07:00.0", "hang nvmlDeviceGetPowerUsage");
        fake.change(text -> text.replace("temperature 61", "temperature 62"));
        awaitTemperature("0000:0f:00.0", 62);
        await(() -> reading("0000:07:00.0").orElseThrow().isSilent());
        assertEquals(OptionalInt.empty(), temperature("0000:07:00.0"));
        fake.change(text -> text.replace("hang nvmlDeviceGetPowerUsage", ""));
        awaitTemperature("0000:07:00.0", 62);
    }

    /** As after a restart of the daemon beside a GPU that is lost. */
    @Test
    void gpuThatNeverAnswersIsSilent() {
        fake = FakeNvml.in(directory, "a100x8");
        fake.add("0000:07:00.0", "hang nvmlDeviceGetPowerUsage");
        world.gpus = gpus("0000:07:00.0", "0000:0f:00.0");
        world.library = Optional.of(fake.library());
        monitor = new GpuMonitor(world, QUICK, health()).start();
        awaitTemperature("0000:0f:00.0", 61);
        await(() -> reading("0000:07:00.0").filter(Reading::isSilent).isPresent());
        fake.change(text -> text.replace("hang nvmlDeviceGetPowerUsage", ""));
        awaitTemperature("0000:07:00.0", 61);
    }

    @Test
    void hangingInitDelaysNobody() {
        fake = FakeNvml.in(directory, "t4");
        fake.add("", "hang nvmlInit_v2");
        world.gpus = gpus("0000:00:1e.0");
        world.library = Optional.of(fake.library());
        monitor = new GpuMonitor(world, QUICK, health()).start();
        assertEquals(Map.of(), monitor.readings());
        fake.change(text -> text.replace("hang nvmlInit_v2", ""));
        awaitTemperature("0000:00:1e.0", 33);
    }

    @Test
    void gpusComeAndGo() {
        start("a100x8", "0000:07:00.0");
        awaitTemperature("0000:07:00.0", 61);
        world.gpus = gpus("0000:47:00.0");
        await(() -> monitor.readings().keySet().equals(Set.of("0000:47:00.0")));
    }

    @Test
    void driverGoesAndAnotherComes() throws Exception {
        start("t4", "0000:00:1e.0");
        awaitTemperature("0000:00:1e.0", 33);
        fake.unload();
        world.library = Optional.empty();
        await(() -> monitor.readings().isEmpty());
        Path other = Files.createDirectory(directory.resolve("next"));
        fake = FakeNvml.in(other, "t4");
        fake.change(text -> text.replace("temperature 33", "temperature 40"));
        world.library = Optional.of(fake.library());
        awaitTemperature("0000:00:1e.0", 40);
        assertTrue(reading("0000:00:1e.0").orElseThrow().trouble().isEmpty());
    }

    private static final String[] A100S = {
        "0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0",
        "0000:87:00.0", "0000:90:00.0", "0000:b7:00.0", "0000:bd:00.0"
    };

    private Topology topology(String one, String other) {
        return monitor.topologies().get(new GpuPair(one, other));
    }

    private void awaitTopology(String one, String other, Ancestor ancestor, int links) {
        await(() -> new Topology(ancestor, links).equals(topology(one, other)));
    }

    @Test
    void linksThroughSwitchesAreLinks() {
        start("a100x8", A100S);
        await(() -> monitor.topologies().size() == 28);
        awaitTopology("0000:07:00.0", "0000:0f:00.0", Ancestor.ONE_SWITCH, 12);
        awaitTopology("0000:bd:00.0", "0000:07:00.0", Ancestor.SYSTEM, 12);
    }

    @Test
    void linksGoToOneOther() {
        start("a40x8", "0000:01:00.0", "0000:41:00.0", "0000:42:00.0", "0000:81:00.0");
        await(() -> monitor.topologies().size() == 6);
        awaitTopology("0000:42:00.0", "0000:41:00.0", Ancestor.ONE_SWITCH, 4);
        awaitTopology("0000:01:00.0", "0000:41:00.0", Ancestor.NUMA_NODE, 0);
        awaitTopology("0000:41:00.0", "0000:81:00.0", Ancestor.SYSTEM, 0);
    }

    @Test
    void linkThatGoesDownIsNoticed() {
        start("h100x4", "0000:1b:00.0", "0000:43:00.0");
        awaitTopology("0000:1b:00.0", "0000:43:00.0", Ancestor.NUMA_NODE, 6);
        fake.change(text -> text.replace("link 5 0000:43:00.0\n", ""));
        awaitTopology("0000:1b:00.0", "0000:43:00.0", Ancestor.NUMA_NODE, 5);
    }

    @Test
    void topologyIsThatOfTheGpusThatAnswer() {
        start("a100x8", "0000:07:00.0", "0000:0f:00.0", "0000:47:00.0");
        await(() -> monitor.topologies().size() == 3);
        fake.add("0000:4e:00.0", "hang nvmlDeviceGetNvLinkState");
        fake.add("0000:87:00.0", "error nvmlDeviceGetUUID 15");
        world.gpus = gpus("0000:07:00.0", "0000:4e:00.0", "0000:87:00.0", "0000:90:00.0");
        await(() -> topology("0000:07:00.0", "0000:90:00.0") != null);
        assertEquals(1, monitor.topologies().size());
        awaitTemperature("0000:4e:00.0", 27);
        fake.change(text -> text.replace("hang nvmlDeviceGetNvLinkState", ""));
        await(() -> topology("0000:4e:00.0", "0000:90:00.0") != null);
        fake.unload();
        world.library = Optional.empty();
        await(() -> monitor.topologies().isEmpty());
    }
}
