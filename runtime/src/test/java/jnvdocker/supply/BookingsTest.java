package jnvdocker.supply;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.lease.BookingRule;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Limits;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Subject;
import jnvdocker.lease.TestingLeases;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Bookings within limits, and which are refused: by a clock that the test controls. */
class BookingsTest {
    private static final Instant NOW = Instant.parse("2026-11-20T08:00:00Z");

    @TempDir Path directory;
    private LeaseRegistry registry;
    private List<Gpu> gpus = List.of(A, B);

    @BeforeEach
    void open() throws IOException {
        registry =
                LeaseRegistry.open(
                        directory, "boot", TestingLeases.steady(() -> NOW), TestingLeases.RANDOM);
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    /** Each user may hold GPUs for so many hours. */
    private Bookings bookings(int... hold) {
        List<Rule<Duration>> longest =
                hold.length == 0
                        ? List.of()
                        : List.of(
                                new Rule<>(
                                        Subject.EVERYBODY,
                                        Duration.ofHours(hold[0]),
                                        "limits.*.max_hold",
                                        "config.toml:1"));
        LeasePolicy policy =
                new LeasePolicy(
                        new Limits(
                                List.of(), List.of(), List.of(), longest, List.of(), List.of(),
                                List.of(), List.of()),
                        1,
                        List.of(),
                        List.of(),
                        false,
                        Optional.empty(),
                        new BookingRule(BookingRule.Kind.END, Duration.ofDays(7)));
        AllowanceReader users =
                new AllowanceReader(registry, AllowanceReader.Groups.OF_THIS_HOST, Pace.REAL);
        return new Bookings(
                registry, new Supply(() -> gpus, () -> GpuTraits.UNKNOWN, () -> policy, users));
    }

    private static Bookings.Made book(Bookings bookings, String gpus, Duration time, boolean byRoot)
            throws RefusedException, IOException {
        return bookings.book(GpuRequest.parseOption(gpus), ALICE, NOW, time, byRoot);
    }

    private static String refusal(Bookings bookings, String gpus, Duration time, boolean byRoot) {
        return assertThrows(RefusedException.class, () -> book(bookings, gpus, time, byRoot))
                .getMessage();
    }

    @Test
    void bookingIsNoLongerThanAUserMayHoldGpus() throws Exception {
        assertEquals(
                "9h requested, but each user may hold GPUs for 8h at most (limits.*.max_hold);"
                        + " book them for less time",
                refusal(bookings(8), "1", Duration.ofHours(9), false));
        assertTrue(registry.holdings().bookings().isEmpty());
        assertEquals(
                NOW.plus(Duration.ofHours(8)),
                book(bookings(8), "1", Duration.ofHours(8), false).booking().until());
        book(bookings(8), "1", Duration.ofHours(9), true);
        assertEquals(2, registry.holdings().bookings().size());
    }

    @Test
    void withoutMaxHoldTheLongestBookingCounts() throws Exception {
        book(bookings(), "1", Duration.ofDays(7), false);
        assertEquals(
                "nobody but root may book GPUs for longer than 7d (max_booking); book them for"
                        + " less time",
                refusal(bookings(), "1", Duration.ofDays(8), false));
        assertEquals(
                "nobody but root may book GPUs for longer than 7d (max_booking); book them for"
                        + " less time",
                refusal(bookings(8), "1", Duration.ofDays(8), false));
    }

    /** Not even root books nothing. */
    @Test
    void noGpuCannotBeBooked() {
        for (String none : List.of("0", "none", "count=0")) {
            for (boolean byRoot : List.of(false, true)) {
                assertEquals(
                        "no GPU is requested, and a booking needs one; write how many, as in 'gpu"
                                + " book 2 --for 8h'",
                        refusal(bookings(), none, Duration.ofHours(1), byRoot));
            }
        }
        gpus = List.of();
        assertTrue(
                refusal(bookings(), "all", Duration.ofHours(1), true)
                        .matches("all GPUs requested from .*, but none can be booked .*"));
    }
}
