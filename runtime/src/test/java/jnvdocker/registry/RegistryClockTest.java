package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.DOCKERD;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.HistoryKeeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;

/** However the clock is set, ages stay right, and nothing is lost. */
@Attack(
        by = "root, by mistake",
        what = "sets the clock by ±400 days, or to 2099",
        result = "ages stay, and nothing is deleted")
class RegistryClockTest {
    private static final Duration KEPT = Duration.ofDays(400);

    @TempDir Path directory;
    private LeaseRegistry registry;
    private String boot = "boot-1";
    private Instant wall = Instant.parse("2026-11-22T10:00:00Z");
    private Duration up = Duration.ofHours(1);
    private int claims;
    private int pauses;
    private final HostClock clock =
            new HostClock() {
                @Override
                public Instant instant() {
                    return wall;
                }

                @Override
                public Duration sinceBoot() {
                    if (pauses > 0) {
                        pauses--;
                        pass(1);
                    }
                    return up;
                }
            };

    @BeforeEach
    void open() throws IOException {
        registry = LeaseRegistry.open(directory, boot, clock, TestingLeases.RANDOM);
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    /** A booking that begins now would else begin later for whoever requests its GPUs at once. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void pauseBetweenTheReadsOfTwoClocksIsNoDifference(int reads) throws IOException {
        pauses = reads;
        try (LeaseRegistry other =
                LeaseRegistry.open(
                        Files.createDirectory(directory.resolve("other")),
                        boot,
                        clock,
                        TestingLeases.RANDOM)) {
            assertEquals(wall, other.now());
            pauses = reads;
            other.live();
            assertEquals(wall, other.now());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {400, -400})
    void agesAndHistoryStayRightWhenTheClockIsSet(int days) throws IOException {
        end(held(A), 10);
        Lease live = held(B);
        pass(10);
        wall = wall.plus(Duration.ofDays(days));
        assertEquals(wall.minusSeconds(10), registry.live().getFirst().since());
        Lease past = registry.history().past(Long.MAX_VALUE, 1).getFirst();
        assertEquals(wall.minusSeconds(20), past.since());
        assertEquals(wall.minusSeconds(10), past.end().orElseThrow().at());
        assertEquals(wall.minusSeconds(10), registry.holdings().idleSince().get(A.uuid()));
        assertEquals(Duration.ofSeconds(20), hours());
        end(registry.liveOf(live.claim().id()).orElseThrow(), 10);
        assertEquals(Duration.ofSeconds(30), hours());
    }

    /** The clock is set while no daemon runs. */
    @Test
    void aDaemonThatIsStartedLaterFindsThemToo() throws IOException {
        Lease live = held(A);
        close();
        pass(10);
        wall = wall.plus(Duration.ofDays(400));
        open();
        assertEquals(wall.minusSeconds(10), registry.liveOf(live.claim().id()).get().since());
        assertEquals(Duration.ofSeconds(10), hours());
    }

    @Test
    void timesThatAnEarlierVersionWroteStay() throws IOException {
        Lease live = held(A);
        registry.close();
        TestingLeases.sql(directory, "UPDATE lease SET since_up = NULL");
        wall = wall.plus(Duration.ofDays(400));
        open();
        assertEquals(live.since(), registry.live().getFirst().since());
        end(registry.live().getFirst(), 10);
        wall = wall.minus(Duration.ofDays(400));
        assertTrue(!hours().isNegative(), "less than nothing");
    }

    @Test
    void aPlaceInTheLineIsAsOldAsItIs() throws IOException {
        registry.addTicket(
                new Request(
                        new GpuRequest.Count(1),
                        Set.of(),
                        ALICE,
                        CLIENT,
                        TestingLeases.CUDA,
                        Optional.empty()),
                0);
        pass(10);
        wall = wall.plus(Duration.ofDays(400));
        assertEquals(wall.minusSeconds(10), registry.tickets().getFirst().since());
    }

    /** The exact time is unknown, but it was not later. */
    @Test
    void aLeaseOfAnotherBootHasEndedBeforeThisOneBegan() throws IOException {
        Lease lease = held(A);
        reboot(Duration.ofDays(3));
        end(registry.liveOf(lease.claim().id()).orElseThrow(), 5_000);
        assertEquals(
                wall.minus(up),
                registry.history().past(Long.MAX_VALUE, 1).getFirst().end().orElseThrow().at());
        assertEquals(Duration.ofDays(3), hours());
        wall = wall.plus(Duration.ofDays(100));
        assertEquals(
                wall.minus(up),
                registry.history().past(Long.MAX_VALUE, 1).getFirst().end().orElseThrow().at());
    }

    @Test
    void historyIsNotDeletedSinceTheClockSaysThatItIs2099() throws IOException {
        end(held(A), 10);
        reboot(Duration.ofMinutes(1));
        end(held(B), 10);
        wall = Instant.parse("2099-01-01T00:00:00Z");
        assertEquals(0, HistoryKeeper.delete(registry, KEPT, Pace.REAL));
        pass(Duration.ofDays(399).toSeconds());
        assertEquals(0, HistoryKeeper.delete(registry, KEPT, Pace.REAL));
        pass(Duration.ofDays(2).toSeconds());
        // The other lease is of this boot; it goes when the clock is right, or in another boot.
        assertEquals(1, HistoryKeeper.delete(registry, KEPT, Pace.REAL));
    }

    @Test
    void historyOfAHostThatWasOffForSomeWeeksIsDeletedAtOnce() throws IOException {
        end(held(A), 10);
        reboot(Duration.ofDays(395));
        end(held(B), 10);
        reboot(Duration.ofDays(20));
        assertEquals(1, HistoryKeeper.delete(registry, KEPT, Pace.REAL));
    }

    @Test
    void historyOfAHostThatWasOffIsDeletedWhenItWasUsedAgain() throws IOException {
        end(held(A), 10);
        reboot(Duration.ofDays(500));
        assertEquals(0, HistoryKeeper.delete(registry, KEPT, Pace.REAL));
        end(held(B), 10);
        reboot(Duration.ofMinutes(1));
        assertEquals(1, HistoryKeeper.delete(registry, KEPT, Pace.REAL));
        assertEquals(1, registry.history().past(Long.MAX_VALUE, 9).size());
    }

    private void pass(long seconds) {
        wall = wall.plusSeconds(seconds);
        up = up.plusSeconds(seconds);
    }

    /** The host is off for that long. */
    private void reboot(Duration off) throws IOException {
        close();
        boot += "1";
        wall = wall.plus(off).plusSeconds(60);
        up = Duration.ofSeconds(60);
        open();
    }

    private Duration hours() throws IOException {
        return registry.history()
                .gpuTime(Instant.EPOCH, Optional.empty(), Optional.empty())
                .total();
    }

    private Lease held(Gpu gpu) throws IOException {
        Claim claim = TestingLeases.claim("%012x".formatted(++claims), ALICE, gpu);
        TestingLeases.reserve(registry, claim, new ProcessId(4711, claims));
        TestingLeases.mount(registry, claim, "use", DOCKERD);
        return registry.liveOf(claim.id()).orElseThrow();
    }

    private void end(Lease lease, int seconds) throws IOException {
        pass(seconds);
        assertTrue(TestingLeases.end(registry, lease, "seen"));
    }
}
