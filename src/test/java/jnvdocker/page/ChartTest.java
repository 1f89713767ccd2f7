package jnvdocker.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Booking;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.LeaseBar;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Trouble;
import jnvdocker.rest.OpenApi;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** A chart as a document. */
class ChartTest {
    private static final Instant BEGIN = Instant.parse("2026-11-01T00:00:00Z");
    private static final Owner ALICE = new Owner(1000, "alice");
    private static final Owner BOB = new Owner(1001, "bob");
    private static final Gpu GPU =
            new Gpu(0, "GPU-a", 0, "0000:07:00.0", "A100", Optional.empty(), Optional.empty());

    private static Instant hour(double hours) {
        return BEGIN.plusSeconds(Math.round(hours * 3600));
    }

    private static LeaseBar bar(long lease, Owner owner, double from, Optional<Instant> until) {
        return new LeaseBar(
                lease,
                GPU.uuid(),
                owner,
                "train",
                hour(from),
                until,
                List.of(new LeaseBar.Stretch(hour(from), hour(from + 2))));
    }

    /** Alice until hour 9, idle at first; trouble; bob since hour 20. */
    private static final Chart DAY =
            new Chart(
                    BEGIN,
                    hour(24),
                    List.of(
                            bar(2, BOB, 20, Optional.empty()),
                            bar(1, ALICE, -1, Optional.of(hour(9)))),
                    List.of(
                            trouble(GpuStatus.State.UNMANAGED, 10, 12),
                            trouble(GpuStatus.State.SICK, 14, 16)),
                    true);

    private static final Booking BOOKING =
            Booking.of(1, ALICE, List.of(ClaimedGpu.of(GPU)), hour(30), hour(40));

    private static Trouble trouble(GpuStatus.State state, double from, double until) {
        return new Trouble(GPU.uuid(), state, Optional.of("eve"), hour(from), hour(until));
    }

    @Test
    void documentIsAsItIsDescribed() {
        OpenApi.checkData("Chart", ChartJson.of(DAY, List.of(BOOKING), true));
        assertTrue(
                ChartJson.of(DAY, List.of(BOOKING), true)
                        .contains("[2,0,1,0,72000,null,[[72000,79200]]]"));
        assertTrue(
                ChartJson.of(DAY, List.of(BOOKING), true)
                        .contains("\"bookings\":[[0,\"alice\",108000,144000]]"));
    }

    @Test
    void namesAreLeftOut() {
        String document = ChartJson.of(DAY, List.of(BOOKING), false);
        OpenApi.checkData("Chart", document);
        for (String name : List.of("alice", "bob", "eve", "train", "1000")) {
            assertFalse(document.contains(name), document);
        }
    }

    @Test
    void lastHourHasTheMeansOfItsMinutes() {
        LastHour hour = new LastHour();
        hour.add(100, 10);
        hour.add(100, 21);
        hour.add(102, 50);
        List<Integer> expected = Arrays.asList(new Integer[LastHour.MINUTES]);
        expected.set(57, 16);
        expected.set(59, 50);
        assertEquals(expected, hour.until(102));
        assertEquals(Collections.nCopies(LastHour.MINUTES, null), hour.until(300));
        hour.add(162, 5);
        assertEquals(5, hour.until(162).getLast());
        assertEquals(Duration.ofHours(1).toMinutes(), hour.until(162).size());
    }
}
