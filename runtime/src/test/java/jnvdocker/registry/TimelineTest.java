package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.claim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.LeaseBar;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.Trouble;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the GPUs were used for comes back as it was written. */
class TimelineTest {
    private static final Instant BEGIN = TestingLeases.THEN;
    private static final Duration GAP = Duration.ofMinutes(3);
    private static final int MANY = 100;

    @TempDir Path directory;
    private Instant now = BEGIN;
    private LeaseRegistry registry;

    @BeforeEach
    void open() throws IOException {
        registry =
                LeaseRegistry.open(
                        directory, "boot", TestingLeases.steady(() -> now), TestingLeases.RANDOM);
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    @Test
    void liveLeaseHasABarForEachGpu() throws Exception {
        TestingLeases.reserve(registry, claim("000000000001", ALICE, A, B), CLIENT);
        now = BEGIN.plus(Duration.ofHours(5));
        List<LeaseBar> bars = registry.timeline().bars(BEGIN, MANY);
        assertEquals(
                List.of(A.uuid(), B.uuid()), bars.stream().map(LeaseBar::gpu).sorted().toList());
        assertEquals(ALICE, bars.getFirst().owner());
        assertEquals(Optional.empty(), bars.getFirst().until());
        assertEquals(1, registry.timeline().bars(BEGIN, 1).size());
    }

    @Test
    void reservationThatCameToNothingHasNone() throws Exception {
        var claim = claim("000000000001", ALICE, A);
        TestingLeases.reserve(registry, claim, CLIENT);
        TestingLeases.end(registry, registry.liveOf(claim.id()).orElseThrow(), "seen");
        assertEquals(List.of(), registry.timeline().bars(BEGIN, MANY));
    }

    /** From 0:30 to 3:15, and a quarter of an hour later on. */
    @Test
    void idleHoursThatFollowEachOtherAreOnePiece() throws Exception {
        var claim = claim("000000000001", ALICE, A);
        TestingLeases.reserve(registry, claim, CLIENT);
        long lease = registry.liveOf(claim.id()).orElseThrow().id();
        now = BEGIN.plus(Duration.ofHours(8));
        registry.idle()
                .write(
                        List.of(),
                        Map.of(
                                hour(lease, 0), minutes(30),
                                hour(lease, 1), minutes(60),
                                hour(lease, 2), minutes(60),
                                hour(lease, 3), minutes(15),
                                hour(lease, 6), minutes(15)));
        assertEquals(
                List.of(stretch(30, 195), stretch(360, 375)),
                registry.timeline().bars(BEGIN, MANY).getFirst().idle());
    }

    private static IdleStore.Hour hour(long lease, long number) {
        return new IdleStore.Hour(lease, A.uuid(), number);
    }

    private static long minutes(long number) {
        return Duration.ofMinutes(number).toMillis();
    }

    private static LeaseBar.Stretch stretch(long from, long until) {
        return new LeaseBar.Stretch(
                BEGIN.plus(Duration.ofMinutes(from)), BEGIN.plus(Duration.ofMinutes(until)));
    }

    @Test
    void troubleThatIsSeenAgainSoonGoesOn() throws Exception {
        see(0);
        see(1);
        see(4);
        see(30);
        assertEquals(List.of(trouble(0, 4), trouble(30, 30)), troubles());
        assertEquals(
                List.of(trouble(30, 30)),
                registry.timeline().troubles(BEGIN.plus(Duration.ofMinutes(5)), MANY));
    }

    @Test
    void troublesAreKeptAsLongAsLeases() throws Exception {
        see(0);
        see(30);
        now = BEGIN.plus(Duration.ofHours(2));
        registry.timeline().write(List.of(), GAP, Optional.of(Duration.ofMinutes(100)));
        assertEquals(List.of(trouble(30, 30)), troubles());
    }

    private void see(long minute) throws IOException {
        now = BEGIN.plus(Duration.ofMinutes(minute));
        registry.timeline().write(List.of(trouble(minute, minute)), GAP, Optional.empty());
    }

    private static Trouble trouble(long from, long until) {
        return new Trouble(
                A.uuid(),
                GpuStatus.State.UNMANAGED,
                Optional.of("bob"),
                BEGIN.plus(Duration.ofMinutes(from)),
                BEGIN.plus(Duration.ofMinutes(until)));
    }

    private List<Trouble> troubles() throws IOException {
        return registry.timeline().troubles(BEGIN.minusSeconds(1), MANY);
    }
}
