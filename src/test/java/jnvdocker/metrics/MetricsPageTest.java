package jnvdocker.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.Samples;
import jnvdocker.core.LeaseParts;
import jnvdocker.core.NoEngine;
import jnvdocker.core.TestingParts;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.idle.IdleHolder;
import jnvdocker.idle.IdleHolders;
import jnvdocker.lease.BookingRule;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Connections;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.IdleSource;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.request.GpuRequest;
import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The text that Prometheus reads, with leases of a registry on disk. */
class MetricsPageTest {
    private static final Owner ALICE = new Owner(1001, "alice");
    private static final int GPUS = 3;

    @TempDir Path directory;
    private final ProcessId self =
            Processes.ofThisMachine().find((int) ProcessHandle.current().pid()).orElseThrow();
    private final Map<String, Reading> readings = new HashMap<>();
    private final List<IdleHolder> idle = new ArrayList<>();
    private boolean namesOverTcp;
    private Host host;
    private LeaseParts parts;

    @BeforeEach
    void open() throws IOException {
        host = Samples.host(directory.resolve("root"), GPUS);
        parts =
                TestingParts.open(
                        Files.createDirectory(directory.resolve("state")),
                        new NoEngine(),
                        () -> HostDriver.read(host).gpus(),
                        TestingLeases.NO_USES,
                        policy(),
                        new GpuTraits(
                                Connections.UNKNOWN, Map.of(Samples.gpu(0).uuid(), 40L << 30)));
    }

    /** Each user may have two GPUs, and GPU 0 may be shared. */
    private static LeasePolicy policy() {
        LeasePolicy usual =
                TestingLeases.policy(OptionalInt.of(2), Optional.empty(), List.of(), false);
        return new LeasePolicy(
                usual.limits(),
                usual.maxWaitsPerUser(),
                List.of(),
                List.of("0"),
                false,
                Optional.empty(),
                BookingRule.NONE);
    }

    @AfterEach
    void close() throws Exception {
        parts.close();
    }

    private Claim claim(String request) throws IOException, RefusedException {
        return parts.leases()
                .runs()
                .take(
                        new Request(
                                GpuRequest.parseOption(request),
                                Set.of(),
                                ALICE,
                                self,
                                new Origin.EngineContainer("engine", Optional.of("cuda:\"12\"\n")),
                                Optional.of(Duration.ofHours(8))),
                        Optional.empty())
                .keep()
                .orElseThrow();
    }

    /** The last answer is given again for a second, so each needs a page of its own. */
    private List<String> lines(boolean trusted) throws IOException {
        MetricsPage page =
                new MetricsPage(
                        view(() -> Map.copyOf(readings), _ -> List.copyOf(idle)),
                        () -> namesOverTcp);
        return lines(page, trusted);
    }

    private GpuView view(Supplier<Map<String, Reading>> read, IdleHolders holders) {
        return new GpuView(host, parts.leases(), read, Map::of, holders);
    }

    private static List<String> lines(MetricsPage page, boolean trusted) throws IOException {
        WebAnswer answer =
                page.answer(
                                new WebRequest(
                                        "/metrics",
                                        Map.of(),
                                        trusted,
                                        OptionalInt.empty(),
                                        Optional.empty()))
                        .orElseThrow();
        assertTrue(
                answer instanceof WebAnswer.Page(int status, String type, String _)
                        && status == 200
                        && type.equals("text/plain; version=0.0.4; charset=utf-8"));
        return ((WebAnswer.Page) answer).body().lines().toList();
    }

    private static void assertHas(List<String> lines, String... expected) {
        for (String line : expected) {
            assertTrue(
                    lines.contains(line), () -> line + "\nis not in\n" + String.join("\n", lines));
        }
    }

    private static List<String> samples(List<String> lines, String name) {
        return lines.stream()
                .filter(line -> line.startsWith(name + "{") || line.startsWith(name + " "))
                .toList();
    }

    @Test
    void leasesAreCountedWithTheirDecisions() throws Exception {
        Claim claim = claim("device=1");
        parts.leases().reservations().cancel(claim("device=0"));
        for (String request : List.of("device=1", "3", "4")) {
            try {
                claim(request);
            } catch (RefusedException e) {
                parts.leases().decisions().refused(ALICE, "container", e);
            }
        }
        List<String> lines = lines(true);
        assertHas(
                lines,
                "# TYPE jnvdocker_gpus gauge",
                "jnvdocker_gpus{state=\"FREE\"} 2.0",
                "jnvdocker_gpus{state=\"RESERVED\"} 1.0",
                "jnvdocker_gpus{state=\"STUCK\"} 0.0",
                "jnvdocker_leases 1.0",
                "# TYPE jnvdocker_leases_granted_total counter",
                "jnvdocker_leases_granted_total 2.0",
                "jnvdocker_leases_released_total 1.0",
                "jnvdocker_refusals_total{reason=\"taken\"} 1.0",
                "jnvdocker_refusals_total{reason=\"never_allowed\"} 1.0",
                "jnvdocker_refusals_total{reason=\"too_few\"} 1.0",
                "jnvdocker_refusals_total{reason=\"sick\"} 0.0",
                "jnvdocker_waiting_clients 0.0",
                "jnvdocker_longest_wait_seconds 0.0",
                "jnvdocker_driver_info{version=\"535.104.05\"} 1");
        String held =
                "{claim=\"%s\",container=\"\",gpu=\"1\",image=\"cuda:\\\"12\\\"\\\\u{a}\",state=\"RESERVED\",user=\"alice\",uuid=\"%s\"} 1.0"
                        .formatted(claim.id(), Samples.gpu(1).uuid());
        assertHas(lines, "jnvdocker_gpu_state" + held);
        assertEquals(1, samples(lines, "jnvdocker_gpu_lease_start_time_seconds").size());
        assertEquals(1, samples(lines, "jnvdocker_gpu_free_since_time_seconds").size());
        assertEquals(1, samples(lines, "jnvdocker_gpu_seconds_total").size());
        assertTrue(
                samples(lines, "jnvdocker_gpu_seconds_total")
                        .getFirst()
                        .startsWith("jnvdocker_gpu_seconds_total{user=\"alice\"} "));
    }

    @Test
    void namesAreNotShownOverTcpUnlessItIsAllowed() throws Exception {
        Claim claim = claim("device=1");
        readings.put("0000:01:00.0", full());
        String all = String.join("\n", lines(false));
        for (String name : Metric.NAMES) {
            assertFalse(all.contains(name + "=\""), all);
        }
        assertFalse(all.contains("alice") || all.contains("cuda") || all.contains(claim.id()), all);
        assertTrue(all.contains("jnvdocker_gpu_seconds_total "), all);
        namesOverTcp = true;
        assertTrue(String.join("\n", lines(false)).contains("user=\"alice\""));
    }

    @Test
    void figuresAreInBaseUnitsWithWhoHoldsTheGpu() throws Exception {
        Claim claim = claim("device=1");
        readings.put("0000:01:00.0", full());
        List<String> lines = lines(true);
        String rest =
                "gpu=\"1\",image=\"cuda:\\\"12\\\"\\\\u{a}\",user=\"alice\",uuid=\"%s\"} "
                        .formatted(Samples.gpu(1).uuid());
        String labels = "{claim=\"" + claim.id() + "\",container=\"\"," + rest;
        String clock = "{claim=\"%s\",clock=\"sm\",container=\"\",".formatted(claim.id()) + rest;
        assertHas(
                lines,
                "jnvdocker_gpu_utilization_ratio" + labels + "0.97",
                "jnvdocker_gpu_memory_bytes" + labels + "4.294967296E10",
                "jnvdocker_gpu_memory_used_bytes" + labels + "3.8654705664E10",
                "jnvdocker_gpu_power_watts" + labels + "391.25",
                "jnvdocker_gpu_power_limit_watts" + labels + "400.0",
                "jnvdocker_gpu_temperature_celsius" + labels + "61.0",
                "jnvdocker_gpu_clock_hertz" + clock + "1.41E9",
                "jnvdocker_gpu_pcie_sent_bytes_per_second" + labels + "1.234E7",
                "jnvdocker_gpu_processes" + labels + "1.0");
        List<String> throttled = samples(lines, "jnvdocker_gpu_throttled");
        assertEquals(Throttling.values().length, throttled.size());
        assertEquals(
                1,
                throttled.stream()
                        .filter(line -> line.contains("\"power_cap\"") && line.endsWith(" 1.0"))
                        .count());
        assertEquals(1, throttled.stream().filter(line -> line.endsWith(" 1.0")).count());
        assertTrue(
                samples(lines, "jnvdocker_gpu_ecc_errors_total")
                        .get(1)
                        .matches(".*kind=\"uncorrected\".* 3\\.0"));
    }

    /** A figure that is not reported has no sample, so that it does not count as 0. */
    @Test
    void unknownFigureIsAbsent() throws Exception {
        readings.put("0000:00:00.0", full());
        readings.put("0000:01:00.0", empty());
        readings.put(
                "0000:02:00.0",
                new Reading(
                        Instant.now(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.of("GPU is lost")));
        List<String> lines = lines(true);
        assertEquals(
                List.of("0", "1", "2"),
                samples(lines, "jnvdocker_gpu_nvml_up").stream()
                        .map(line -> line.replaceFirst(".*gpu=\"(.)\".*", "$1"))
                        .toList());
        assertEquals(
                List.of("1.0", "1.0", "0.0"),
                samples(lines, "jnvdocker_gpu_nvml_up").stream()
                        .map(line -> line.substring(line.lastIndexOf(' ') + 1))
                        .toList());
        for (Metric metric : Metric.values()) {
            boolean isFigure = metric.compareTo(Metric.UTILIZATION) >= 0;
            if (isFigure && metric != Metric.PROCESSES) {
                for (String line : samples(lines, metric.fullName())) {
                    assertTrue(line.contains("gpu=\"0\""), line);
                }
            }
        }
    }

    private IdleHolder idle(Claim claim) throws IOException, RefusedException {
        return new IdleHolder(
                HostDriver.read(host).gpus().getFirst(),
                parts.leases().releases().live(claim.id()),
                false,
                IdleSource.NODES,
                Instant.ofEpochSecond(1_800_000_000),
                false,
                Optional.empty(),
                OptionalLong.empty());
    }

    @Test
    void idleTimeIsOfTheLeaseThatIsLive() throws Exception {
        Claim before = claim("device=0");
        idle.add(idle(before));
        String name = Metric.IDLE_SINCE.fullName();
        String sample = samples(lines(true), name).getFirst();
        assertTrue(sample.contains("source=\"nodes\"") && sample.endsWith(" 1.8E9"), sample);
        parts.leases().reservations().cancel(before);
        claim("device=0");
        assertEquals(List.of(), samples(lines(true), name));
    }

    @Test
    void everyMetricOfTheListIsReported() throws Exception {
        idle.add(idle(claim("share=10G")));
        idle.add(idle(claim("share=1G")));
        parts.leases().reservations().cancel(claim("device=1"));
        readings.put("0000:00:00.0", full());
        List<String> lines = lines(true);
        assertEquals(2, samples(lines, Metric.IDLE_SINCE.fullName()).stream().distinct().count());
        assertEquals(
                List.of("1.0E10", "1.0E9"),
                samples(lines, Metric.SHARE.fullName()).stream()
                        .map(line -> line.substring(line.lastIndexOf(' ') + 1))
                        .sorted()
                        .toList());
        TreeSet<String> expected = new TreeSet<>();
        for (Metric metric : Metric.values()) {
            expected.add(metric.fullName());
            List<String> its = samples(lines, metric.fullName());
            assertFalse(its.isEmpty(), metric.fullName());
            for (String label : metric.labels()) {
                assertTrue(its.getFirst().contains(label + "=\""), its.getFirst());
            }
            assertTrue(
                    lines.contains("# HELP " + metric.fullName() + " " + metric.help()),
                    metric.help());
        }
        assertEquals(
                expected,
                lines.stream()
                        .filter(line -> line.startsWith("# TYPE "))
                        .map(line -> line.split(" ")[2])
                        .collect(Collectors.toCollection(TreeSet::new)));
    }

    @Test
    void answerIsGivenAgainForAMoment() throws Exception {
        MetricsPage page = new MetricsPage(view(Map::of, _ -> List.of()), () -> false);
        List<String> before = lines(page, true);
        claim("device=0");
        assertEquals(before, lines(page, true));
        assertFalse(lines(page, false).contains("jnvdocker_leases 0.0"));
    }

    @Test
    void timeOfUsersIsAddedUpFromReadToRead() {
        Instant start = Instant.parse("2026-11-01T09:00:00Z");
        UserTimes times = new UserTimes(start);
        assertEquals(start, times.read());
        times.add(time(start, 10, ALICE));
        assertEquals(start.plusSeconds(10), times.read());
        Owner unknown = new Owner(Owner.UNKNOWN.uid(), "alice?");
        Map<String, Duration> all = times.add(time(times.read(), 5, ALICE, unknown));
        assertEquals(Set.of("alice", UserTimes.name(unknown)), all.keySet());
        assertEquals(Duration.ofSeconds(15), all.get("alice"));
        // The history may have been deleted.
        assertEquals(all, times.add(time(times.read(), 5)));
        assertEquals(start.plusSeconds(20), times.read());
    }

    /** Each of these users has held a GPU all the time. */
    private static GpuTime time(Instant from, int seconds, Owner... users) {
        Instant until = from.plusSeconds(seconds);
        Duration time = Duration.ofSeconds(seconds);
        return new GpuTime(
                from,
                until,
                Stream.of(users)
                        .map(user -> new GpuTime.Use(user, time, Duration.ZERO, 1, 1, 1, until))
                        .toList());
    }

    private static Reading full() {
        GpuFacts.Clocks clocks =
                new GpuFacts.Clocks(
                        OptionalInt.of(1410), OptionalInt.of(1410), OptionalInt.of(1215));
        GpuFacts.PcieLink link = new GpuFacts.PcieLink(OptionalInt.of(4), OptionalInt.of(16));
        GpuFacts facts =
                new GpuFacts(
                        Samples.gpu(1).uuid(),
                        Samples.gpu(1).model(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        OptionalInt.of(1),
                        OptionalLong.of(40L << 30),
                        OptionalLong.of(64L << 30),
                        OptionalInt.of(400_000),
                        clocks,
                        link,
                        new GpuFacts.Chip(OptionalInt.empty(), OptionalInt.empty()));
        GpuFigures figures =
                new GpuFigures(
                        new GpuFigures.Utilization(
                                OptionalInt.of(97),
                                OptionalInt.of(41),
                                OptionalInt.of(0),
                                OptionalInt.of(0)),
                        Optional.of(new GpuFigures.Memory(40L << 30, 36L << 30)),
                        Optional.of(new GpuFigures.Memory(64L << 30, 1 << 20)),
                        OptionalInt.of(391_250),
                        OptionalInt.of(61),
                        OptionalInt.of(30),
                        clocks,
                        link,
                        new GpuFigures.Throughput(OptionalInt.of(12_340), OptionalInt.of(1)),
                        OptionalLong.of(4),
                        new GpuFigures.Errors(
                                Optional.of(true),
                                OptionalLong.of(0),
                                OptionalLong.of(3),
                                OptionalInt.of(1),
                                true,
                                OptionalInt.of(0),
                                false,
                                new GpuFigures.Places(
                                        OptionalLong.empty(),
                                        OptionalLong.empty(),
                                        OptionalLong.empty())),
                        List.of(
                                new GpuFigures.GpuProcess(
                                        1, OptionalLong.empty(), OptionalInt.empty(), false)),
                        Optional.of(GpuFigures.ComputeMode.DEFAULT),
                        Optional.of(true),
                        Optional.of(new GpuFigures.Mig(false, List.of())));
        return new Reading(
                Instant.now(), Optional.of(facts), Optional.of(figures), Optional.empty());
    }

    /** The facts of an old GPU, which reports almost nothing. */
    private static Reading empty() {
        GpuFacts.Clocks clocks =
                new GpuFacts.Clocks(OptionalInt.empty(), OptionalInt.empty(), OptionalInt.empty());
        GpuFigures figures =
                new GpuFigures(
                        new GpuFigures.Utilization(
                                OptionalInt.empty(),
                                OptionalInt.empty(),
                                OptionalInt.empty(),
                                OptionalInt.empty()),
                        Optional.empty(),
                        Optional.empty(),
                        OptionalInt.empty(),
                        OptionalInt.empty(),
                        OptionalInt.empty(),
                        clocks,
                        new GpuFacts.PcieLink(OptionalInt.empty(), OptionalInt.empty()),
                        new GpuFigures.Throughput(OptionalInt.empty(), OptionalInt.empty()),
                        OptionalLong.empty(),
                        new GpuFigures.Errors(
                                Optional.empty(),
                                OptionalLong.empty(),
                                OptionalLong.empty(),
                                OptionalInt.empty(),
                                false,
                                OptionalInt.empty(),
                                false,
                                new GpuFigures.Places(
                                        OptionalLong.empty(),
                                        OptionalLong.empty(),
                                        OptionalLong.empty())),
                        List.of(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty());
        return new Reading(Instant.now(), Optional.empty(), Optional.of(figures), Optional.empty());
    }
}
