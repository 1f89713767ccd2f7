package jnvdocker.idle;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.DOCKERD;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.IdleSource;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Share;
import jnvdocker.lease.Subject;
import jnvdocker.lease.TestingLeases;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.HostClock;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.MemorySize;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;
import jnvdocker.words.Span;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
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

/** Since when held GPUs are idle, by a clock and scans that the test controls. */
class IdleKeeperTest {
    private static final long GIB = 1L << 30;
    private static final ProcessId INIT = new ProcessId(900, 7);
    private static final ProcessId OTHER = new ProcessId(901, 8);

    @TempDir Path directory;
    private final List<GpuUse> open = new ArrayList<>();
    private final Map<String, Reading> readings = new HashMap<>();
    private final HostClock clock = TestingLeases.steady(() -> this.now);
    private Instant now = Instant.parse("2026-11-20T08:00:00Z");
    private boolean knowsContainers = true;
    private final List<String> log = new ArrayList<>();
    private Optional<Duration> warn = Optional.empty();
    private Optional<Duration> longest = Optional.empty();
    private final List<String> stopped = new ArrayList<>();
    private LeaseRegistry registry;
    private IdleKeeper keeper;
    private int claims;

    private final class Seen implements GpuUses {
        @Override
        public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
            return open;
        }

        @Override
        public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
            return open;
        }

        @Override
        public boolean knowsContainers() {
            return knowsContainers;
        }
    }

    private final class Stops implements IdleKeeper.Stops {
        @Override
        public Optional<Rule<Duration>> longest(Owner owner) {
            return longest.map(limit ->
                    new Rule<>(
                            new Subject(Subject.Kind.GROUP, "students"),
                            limit,
                            "limits.@students.idle_stop",
                            "config.toml:1"));
        }

        @Override
        public void stop(Lease lease, String why) {
            stopped.add(lease.id() + ": " + why);
        }
    }

    @BeforeEach
    void start() throws IOException {
        registry = LeaseRegistry.open(directory, "boot", clock, TestingLeases.RANDOM);
        keeper =
                new IdleKeeper(
                        registry,
                        () -> List.of(A, B),
                        new IdleSampler(new Seen(), () -> readings, this::isOf),
                        () -> warn,
                        new Stops(),
                        this::log,
                        clock,
                        Pace.REAL);
        keeper.restore();
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    private void log(Lease lease, List<ClaimedGpu> gpus, Duration time, String reason) {
        List<Integer> indices = gpus.stream().map(ClaimedGpu::index).toList();
        log.add(lease.id() + ": " + indices + " " + Span.text(time) + " " + reason);
    }

    /** The daemon is killed, and another one starts after that time. */
    private void restart(Duration away) throws IOException {
        registry.close();
        now = now.plus(away);
        readings.clear();
        start();
    }

    private void tick() {
        try {
            keeper.tick();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Scans every few seconds for so long, while NVML reports the same. */
    private void pass(Duration time) {
        for (Instant end = now.plus(time); now.isBefore(end); ) {
            now = now.plusSeconds(20);
            readings.replaceAll((_, reading) -> at(reading));
            tick();
        }
    }

    private Reading at(Reading reading) {
        return new Reading(now, reading.facts(), reading.figures(), reading.trouble());
    }

    private Lease reserve(Gpu... gpus) throws IOException {
        Claim claim = TestingLeases.claim("%012x".formatted(++claims), ALICE, gpus);
        TestingLeases.reserve(registry, claim, CLIENT);
        return registry.liveOf(claim.id()).orElseThrow();
    }

    /** A container has started with them. */
    private Lease hold(Gpu... gpus) throws IOException {
        Claim claim = reserve(gpus).claim();
        TestingLeases.mount(registry, claim, "use", DOCKERD);
        Lease lease = registry.liveOf(claim.id()).orElseThrow();
        TestingLeases.start(registry, lease.claim(), INIT, Optional.empty());
        return lease;
    }

    /** A container with that first process holds a share of a GPU, of that party. */
    private Lease share(Owner owner, ProcessId init, Optional<String> party) throws IOException {
        Claim whole = TestingLeases.claim("%012x".formatted(++claims), owner, A);
        Share share = new Share(new MemorySize(10, "G"), 40L << 30);
        Claim claim =
                new Claim(
                        whole.key(),
                        whole.origin(),
                        owner,
                        List.of(
                                ClaimedGpu.of(
                                        A,
                                        party.isEmpty() ? Optional.of(share) : Optional.empty())),
                        whole.created(),
                        whole.container(),
                        party.orElse(whole.id()));
        TestingLeases.reserve(registry, claim, CLIENT);
        TestingLeases.mount(registry, claim, "use", DOCKERD);
        TestingLeases.start(registry, claim, init, Optional.empty());
        return registry.liveOf(claim.id()).orElseThrow();
    }

    private boolean isOf(GpuUse use, Lease lease) {
        return lease.holder().init().equals(use.process().map(GpuUse.User::id));
    }

    private void opens(Gpu gpu) {
        opens(gpu, INIT);
    }

    private void opens(Gpu gpu, ProcessId process) {
        GpuUse.User user = new GpuUse.User(process, "python3", 0, Optional.empty());
        open.add(new GpuUse(gpu, GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user)));
    }

    private void reports(Gpu gpu, int utilization, long memory) {
        readings.put(gpu.pciAddress(), reading(TestingFigures.working(utilization, memory)));
    }

    /** NVML reports the utilization of a GPU and of its processes. */
    private void reportsEach(int utilization, GpuFigures.GpuProcess... processes) {
        readings.put(A.pciAddress(), reading(TestingFigures.working(utilization, processes)));
    }

    private static GpuFigures.GpuProcess process(ProcessId process, int utilization) {
        return TestingFigures.process(
                process.pid(), OptionalLong.of(3 * GIB), OptionalInt.of(utilization));
    }

    /** A process whose utilization the driver does not report. */
    private static GpuFigures.GpuProcess silent(ProcessId process) {
        return TestingFigures.process(process.pid(), OptionalLong.of(3 * GIB), OptionalInt.empty());
    }

    private String idle() {
        return String.join(
                "; ",
                keeper.idle(Duration.ZERO).stream()
                        .map(it -> it.gpu().index() + " " + IdleText.note(it, registry.now()))
                        .toList());
    }

    @Test
    void gpuThatNobodyOpensIsIdleSinceItsContainerBegan() throws Exception {
        tick();
        now = now.plusSeconds(5);
        hold(A);
        pass(Duration.ofHours(3));
        IdleHolder idle = keeper.idle().getFirst();
        assertEquals(A, idle.gpu());
        assertEquals(IdleSource.NODES, idle.source());
        assertEquals(now.minus(Duration.ofHours(3)).plusSeconds(20), idle.since());
        assertEquals(OptionalLong.empty(), idle.memory());
        now = now.plusSeconds(25);
        assertEquals("0 no process has had it open for 3h", idle());
    }

    @Test
    void openNodeIsUse() throws Exception {
        tick();
        hold(A);
        opens(A);
        pass(Duration.ofHours(1));
        assertEquals("", idle());
        open.clear();
        pass(Duration.ofMinutes(20));
        assertEquals("0 no process has had it open for 19m", idle());
        opens(A);
        pass(Duration.ofSeconds(10));
        assertEquals("", idle());
    }

    @Test
    void processThatKeepsAGpuOpenAndDoesNothingIsIdleByNvml() throws Exception {
        tick();
        hold(A);
        opens(A);
        reports(A, 93, 12 * GIB);
        pass(Duration.ofHours(1));
        assertEquals("", idle());
        reports(A, 0, 12 * GIB);
        pass(Duration.ofHours(3));
        now = now.plusSeconds(25);
        assertEquals("0 idle for 3h, 12.0 GiB held", idle());
        assertEquals(OptionalLong.of(12 * GIB), keeper.idle().getFirst().memory());
        reports(A, 1, 12 * GIB);
        pass(Duration.ofSeconds(10));
        assertEquals("", idle());
    }

    /** Between two scans a process may have come and gone, and NVML has seen that. */
    @Test
    void gpuThatHasWorkedWasOpen() throws Exception {
        tick();
        hold(A);
        pass(Duration.ofHours(1));
        reports(A, 40, 0);
        pass(Duration.ofSeconds(10));
        assertEquals("", idle());
        reports(A, 0, 0);
        pass(Duration.ofMinutes(10));
        assertEquals("0 no process has had it open for 9m", idle());
    }

    @Test
    void reservedGpuAndStartingContainerAreNotIdle() throws Exception {
        tick();
        Claim claim = reserve(A).claim();
        pass(Duration.ofHours(1));
        assertEquals("", idle());
        TestingLeases.mount(registry, claim, "use", DOCKERD);
        pass(Duration.ofMinutes(10));
        assertEquals("", idle());
        TestingLeases.start(registry, claim, INIT, Optional.empty());
        pass(Duration.ofMinutes(6));
        assertEquals("0 no process has had it open for 5m", idle());
    }

    @Test
    void partedGpuAndSilentDriverAreNotIdleByNvml() throws Exception {
        tick();
        hold(A, B);
        opens(A);
        opens(B);
        readings.put(A.pciAddress(), reading(TestingFigures.parted()));
        readings.put(
                B.pciAddress(),
                new Reading(now, Optional.empty(), Optional.empty(), Optional.of("GPU is lost")));
        pass(Duration.ofHours(1));
        assertEquals("", idle());
    }

    private Reading reading(GpuFigures figures) {
        return new Reading(now, Optional.empty(), Optional.of(figures), Optional.empty());
    }

    /** Its last answer says nothing of what it does now. */
    @Test
    void driverThatStopsAnsweringIsNoEvidence() throws Exception {
        tick();
        hold(A);
        opens(A);
        reports(A, 0, GIB);
        pass(Duration.ofHours(1));
        assertEquals("0 idle for 59m, 1.0 GiB held", idle());
        Map<String, Reading> last = Map.copyOf(readings);
        for (int i = 0; i < 30; i++) {
            now = now.plusSeconds(10);
            readings.putAll(last);
            tick();
        }
        assertEquals("", idle());
        pass(Duration.ofMinutes(10));
        assertEquals("0 idle for at least 9m, 1.0 GiB held", idle());
    }

    @Test
    void nextDaemonGoesOnFromWhatWasWritten() throws Exception {
        tick();
        hold(A);
        pass(Duration.ofHours(3));
        restart(Duration.ofSeconds(20));
        tick();
        pass(Duration.ofSeconds(20));
        assertEquals("0 no process has had it open for 3h", idle());
    }

    /** The GPU may have been used meanwhile. */
    @Test
    void longTimeWithoutADaemonIsNotKnown() throws Exception {
        tick();
        hold(A);
        pass(Duration.ofHours(3));
        restart(Duration.ofMinutes(30));
        tick();
        pass(Duration.ofMinutes(7));
        assertEquals("0 no process has had it open for at least 7m", idle());
        opens(A);
        pass(Duration.ofSeconds(10));
        open.clear();
        pass(Duration.ofMinutes(7));
        assertEquals("0 no process has had it open for 6m", idle());
    }

    /** The images whose use does not count are not known before the engine has answered. */
    @Test
    void unknownContainerMakesAGpuNeitherUsedNorIdle() throws Exception {
        tick();
        hold(A);
        pass(Duration.ofHours(1));
        knowsContainers = false;
        opens(A);
        pass(Duration.ofMinutes(1));
        open.clear();
        knowsContainers = true;
        pass(Duration.ofMinutes(1));
        assertEquals("0 no process has had it open for 1h1m", idle());
    }

    @Test
    void longestIsFirstAndShortPausesAreNotListed() throws Exception {
        tick();
        hold(B);
        pass(Duration.ofMinutes(10));
        hold(A);
        pass(Duration.ofMinutes(4));
        assertEquals(List.of(B), keeper.idle().stream().map(IdleHolder::gpu).toList());
        assertEquals(
                List.of(B, A), keeper.idle(Duration.ZERO).stream().map(IdleHolder::gpu).toList());
        pass(Duration.ofMinutes(2));
        assertEquals(List.of(B, A), keeper.idle().stream().map(IdleHolder::gpu).toList());
    }

    @Test
    void eachTimeThatALeaseIsIdleForLongIsLoggedOnce() throws Exception {
        warn = Optional.of(Duration.ofHours(2));
        tick();
        long both = hold(A, B).id();
        opens(B);
        pass(Duration.ofHours(1));
        open.clear();
        pass(Duration.ofMinutes(59));
        assertEquals(List.of(), log);
        pass(Duration.ofMinutes(3));
        assertEquals(List.of(both + ": [0] 2h no process has had its node open"), log);
        restart(Duration.ofSeconds(20));
        pass(Duration.ofHours(2));
        assertEquals(2, log.size(), log::toString);
        assertEquals(both + ": [1] 2h no process has had its node open", log.getLast());
        opens(A);
        reports(A, 0, 3 * GIB);
        pass(Duration.ofHours(3));
        assertEquals(3, log.size(), log::toString);
        assertEquals(both + ": [0] 2h utilization 0, 3.0 GiB held", log.getLast());
        warn = Optional.empty();
        open.clear();
        pass(Duration.ofHours(3));
        assertEquals(3, log.size(), log::toString);
    }

    @Test
    void gpusThatHaveBeenIdleForAsLongShareALine() throws Exception {
        warn = Optional.of(Duration.ofMinutes(30));
        tick();
        long both = hold(A, B).id();
        pass(Duration.ofHours(1));
        assertEquals(List.of(both + ": [0, 1] 30m no process has had its node open"), log);
    }

    @Test
    void holderIsStoppedWhenAllItsGpusHaveBeenIdleForLong() throws Exception {
        longest = Optional.of(Duration.ofHours(2));
        tick();
        long both = hold(A, B).id();
        opens(B);
        pass(Duration.ofHours(3));
        assertEquals(List.of(), log);
        open.clear();
        pass(Duration.ofMinutes(114));
        assertEquals(List.of(), log);
        pass(Duration.ofMinutes(3));
        String announcement =
                ": [0, 1] 1h55m no process has had its node open; it is stopped after 2h";
        assertEquals(List.of(both + announcement), log);
        assertEquals(List.of(), stopped);
        pass(Duration.ofMinutes(4));
        assertEquals(
                both + ": its GPUs have been idle for 2h (limits.@students.idle_stop)",
                stopped.getFirst());
        assertEquals(1, log.size(), log::toString);
    }

    /** A limit that is lowered below the time already idle, too, leaves time to act. */
    @Test
    void holderIsNeverStoppedWithoutNotice() throws Exception {
        tick();
        hold(A);
        pass(Duration.ofHours(3));
        longest = Optional.of(Duration.ofHours(2));
        tick();
        assertTrue(log.getFirst().endsWith("; it is stopped after 3h4m"), log::toString);
        pass(Duration.ofMinutes(4));
        assertEquals(List.of(), stopped);
        pass(Duration.ofMinutes(2));
        assertEquals(1, log.size(), log::toString);
        assertTrue(stopped.getFirst().contains("idle for 3h"), stopped::toString);
    }

    @Test
    void useBeforeTheEndKeepsAHolderFromBeingStopped() throws Exception {
        longest = Optional.of(Duration.ofHours(2));
        tick();
        hold(A);
        opens(A);
        reports(A, 0, GIB);
        pass(Duration.ofMinutes(118));
        assertEquals("0 idle for 1h57m of at most 2h, 1.0 GiB held", idle());
        reports(A, 5, GIB);
        pass(Duration.ofSeconds(30));
        reports(A, 0, GIB);
        pass(Duration.ofMinutes(118));
        assertEquals(2, log.size(), log::toString);
        assertEquals(List.of(), stopped);
        longest = Optional.empty();
        pass(Duration.ofHours(2));
        assertEquals(List.of(), stopped);
    }

    @Test
    void endedLeaseIsForgotten() throws Exception {
        tick();
        Lease lease = registry.liveOf(hold(A).claim().id()).orElseThrow();
        pass(Duration.ofHours(1));
        assertTrue(TestingLeases.end(registry, lease, "seen"));
        pass(Duration.ofSeconds(10));
        assertEquals("", idle());
        hold(A);
        pass(Duration.ofMinutes(6));
        assertEquals("0 no process has had it open for 5m", idle());
    }

    /** Pauses between two pieces of work do not count; what does is counted once. */
    @Test
    void historyHasTheTimeThatCounts() throws Exception {
        tick();
        hold(A, B);
        opens(B);
        pass(Duration.ofMinutes(90));
        opens(A);
        pass(Duration.ofMinutes(30));
        for (int i = 0; i < 10; i++) {
            open.removeIf(use -> use.gpu().equals(A));
            pass(Duration.ofMinutes(3));
            opens(A);
            pass(Duration.ofMinutes(3));
        }
        restart(Duration.ofSeconds(30));
        open.removeIf(use -> use.gpu().equals(A));
        pass(Duration.ofMinutes(60));
        restart(Duration.ofSeconds(30));
        pass(Duration.ofMinutes(10));
        pass(Duration.ofMinutes(2));
        GpuTime.Use use =
                registry.history()
                        .gpuTime(Instant.EPOCH, Optional.empty(), Optional.empty())
                        .users()
                        .getFirst();
        assertEquals(90 + 72, use.idle().toMinutes(), 2);
    }

    @Test
    void shareIsIdleWhileTheOtherOneIsUsed() throws Exception {
        warn = Optional.of(Duration.ofMinutes(30));
        longest = Optional.of(Duration.ofHours(2));
        tick();
        share(ALICE, INIT, Optional.empty());
        Lease bobs = share(BOB, OTHER, Optional.empty());
        opens(A);
        pass(Duration.ofHours(3));
        assertEquals("0 no process of this holder has had it open for 2h59m of at most 2h", idle());
        assertEquals(List.of(bobs), keeper.idle().stream().map(IdleHolder::lease).toList());
        assertEquals(
                List.of(
                        bobs.id() + ": [0] 30m no process of this holder has had its node open",
                        bobs.id()
                                + ": [0] 1h55m no process of this holder has had its node open;"
                                + " it is stopped after 2h"),
                log);
        assertEquals(
                bobs.id() + ": its GPU has been idle for 2h (limits.@students.idle_stop)",
                stopped.getFirst());
        assertTrue(stopped.stream().allMatch(it -> it.startsWith(bobs.id() + ":")));
        restart(Duration.ofSeconds(20));
        tick();
        assertEquals(List.of(bobs), keeper.idle().stream().map(IdleHolder::lease).toList());
    }

    @Test
    void ofTwoSharesThatAreOpenTheOneThatComputesIsUsed() throws Exception {
        tick();
        share(ALICE, INIT, Optional.empty());
        Lease bobs = share(BOB, OTHER, Optional.empty());
        opens(A);
        opens(A, OTHER);
        reportsEach(70, process(INIT, 70), process(OTHER, 0));
        pass(Duration.ofHours(1));
        assertEquals("0 idle for 59m, 3.0 GiB held", idle());
        assertEquals(List.of(bobs), keeper.idle().stream().map(IdleHolder::lease).toList());
        reportsEach(70, process(INIT, 30), process(OTHER, 40));
        pass(Duration.ofSeconds(20));
        assertEquals("", idle());
        reportsEach(0, process(INIT, 0), process(OTHER, 0));
        pass(Duration.ofMinutes(10));
        assertEquals("0 idle for 9m, 3.0 GiB held; 0 idle for 9m, 3.0 GiB held", idle());
    }

    /** Nobody can say then which of the processes works. */
    @Test
    void openShareIsUsedWhereTheDriverReportsNoProcessesWork() throws Exception {
        tick();
        share(ALICE, INIT, Optional.empty());
        share(BOB, OTHER, Optional.empty());
        Lease third = share(BOB, new ProcessId(902, 9), Optional.empty());
        opens(A);
        opens(A, OTHER);
        reportsEach(70, silent(INIT), silent(OTHER));
        pass(Duration.ofHours(1));
        assertEquals(List.of(third), keeper.idle().stream().map(IdleHolder::lease).toList());
        open.clear();
        reportsEach(70);
        pass(Duration.ofSeconds(40));
        assertEquals("", idle());
    }

    @Test
    void processOfNobodyCountsForEveryShare() throws Exception {
        tick();
        share(ALICE, INIT, Optional.empty());
        share(BOB, OTHER, Optional.empty());
        opens(A, new ProcessId(1234, 5));
        pass(Duration.ofHours(1));
        assertEquals("", idle());
        open.clear();
        opens(A);
        opens(A, OTHER);
        reportsEach(5, process(INIT, 0), process(OTHER, 0), process(new ProcessId(77, 1), 5));
        pass(Duration.ofHours(1));
        assertEquals("", idle());
    }

    /** NVML's figures are older than the scan. */
    @Test
    void processThatHasEndedSinceItWasReportedIsStillItsHolders() throws Exception {
        tick();
        share(ALICE, INIT, Optional.empty());
        Lease bobs = share(BOB, OTHER, Optional.empty());
        opens(A);
        reportsEach(60, process(INIT, 60));
        pass(Duration.ofMinutes(10));
        open.clear();
        reportsEach(60, process(INIT, 60));
        pass(Duration.ofSeconds(20));
        assertEquals(List.of(bobs), keeper.idle().stream().map(IdleHolder::lease).toList());
    }

    @Test
    void containersOnTheSameGpusAreIdleTogetherAndStoppedTogether() throws Exception {
        longest = Optional.of(Duration.ofHours(2));
        tick();
        Lease first = share(ALICE, INIT, Optional.of("party"));
        Lease second = share(ALICE, OTHER, Optional.of("party"));
        opens(A, OTHER);
        pass(Duration.ofHours(1));
        assertEquals("", idle());
        open.clear();
        pass(Duration.ofMinutes(121));
        assertEquals(
                List.of(
                        first.id() + ": its GPU has been idle for 2h (limits.@students.idle_stop)",
                        second.id()
                                + ": its GPU has been idle for 2h (limits.@students.idle_stop)"),
                stopped.stream().distinct().sorted().limit(2).toList());
        restart(Duration.ofSeconds(30));
        GpuTime.Use use =
                registry.history()
                        .gpuTime(Instant.EPOCH, Optional.empty(), Optional.empty())
                        .users()
                        .getFirst();
        assertEquals(120, use.idle().toMinutes(), 2);
        assertEquals(181, use.time().toMinutes(), 2);
    }

    /** A tenth of a GPU that is idle for two hours is a fifth of an hour. */
    @Test
    void idleHoursOfSharesAreTheirPartsOfAGpu() throws Exception {
        tick();
        share(ALICE, INIT, Optional.empty());
        share(BOB, OTHER, Optional.empty());
        opens(A);
        pass(Duration.ofMinutes(120));
        restart(Duration.ofSeconds(30));
        Map<String, Long> idle = new HashMap<>();
        for (GpuTime.Use use :
                registry.history()
                        .gpuTime(Instant.EPOCH, Optional.empty(), Optional.empty())
                        .users()) {
            idle.put(use.owner().name(), use.idle().toMinutes());
        }
        double part = 10e9 / (40L << 30);
        assertEquals(0, idle.get("alice"));
        assertEquals(120 * part, idle.get("bob"), 2);
    }
}
