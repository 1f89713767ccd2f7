package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.C;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** GPU A is booked for alice: for now, or from an hour later on. */
class BookingTest {
    private static final Instant NOW = Instant.now();
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Booking PRESENT = booking(NOW.minus(HOUR), NOW.plus(HOUR));
    private static final Booking LATER = booking(NOW.plus(HOUR), NOW.plus(HOUR.multipliedBy(9)));
    private static final Booking OVER = booking(NOW.minus(HOUR), NOW);

    private static Booking booking(Instant from, Instant until) {
        return Booking.of(1, ALICE, List.of(ClaimedGpu.of(A)), from, until);
    }

    private static Holdings holdings(Booking... bookings) {
        return new Holdings(
                NOW,
                Map.of(),
                Map.of(B.uuid(), NOW, C.uuid(), NOW),
                Map.of(),
                Map.of(),
                List.of(bookings));
    }

    private static GpuChoice choice(BookingRule.Kind kind, Booking... bookings) {
        LeasePolicy policy =
                new LeasePolicy(
                        Limits.NONE,
                        1,
                        List.of(),
                        List.of(),
                        false,
                        Optional.empty(),
                        new BookingRule(kind, Duration.ofDays(7)));
        return TestingLeases.choice(
                List.of(A, B, C),
                GpuTraits.UNKNOWN,
                holdings(bookings),
                UnmanagedUses.NONE,
                List.of(),
                policy);
    }

    private static GpuRequest count(int gpus) {
        return new GpuRequest.Count(gpus);
    }

    private static GpuRequest devices(Gpu gpu) {
        return new GpuRequest.Devices(List.of(gpu.uuid()));
    }

    private static List<Gpu> chosen(Outcome outcome) {
        return assertInstanceOf(Outcome.Chosen.class, outcome).gpus();
    }

    private static Refusal refusal(Outcome outcome) {
        return Refusals.of(assertInstanceOf(Outcome.Taken.class, outcome), Addressee.COMMAND);
    }

    @Test
    void nobodyElseGetsItWhileItsTimeLasts() throws Exception {
        for (BookingRule.Kind kind : BookingRule.Kind.values()) {
            GpuChoice choice = choice(kind, PRESENT);
            for (GpuRequest request : List.of(devices(A), count(3), new GpuRequest.All())) {
                Refusal refusal =
                        refusal(
                                choice.of(
                                        TestingLeases.requested(request, BOB, Optional.of(HOUR))));
                assertTrue(
                        refusal.what().contains("is booked for alice until "), refusal::toString);
            }
            assertEquals(List.of(B, C), chosen(choice.of(new Requested(count(2), BOB))));
            assertEquals(List.of(A), chosen(choice.of(new Requested(devices(A), ALICE))));
            assertInstanceOf(Outcome.Taken.class, choice.chosenBy(List.of(A), _ -> true));
            assertEquals(Optional.of(PRESENT), choice.verdict(A).kept());
        }
    }

    /** The other GPUs have been idle for less time, and come first nevertheless. */
    @Test
    void userGetsTheBookedGpuAndOthersGetItLast() throws Exception {
        assertEquals(
                List.of(A),
                chosen(choice(BookingRule.Kind.END, PRESENT).of(new Requested(count(1), ALICE))));
        GpuChoice later = choice(BookingRule.Kind.END, LATER);
        assertEquals(
                List.of(A), chosen(choice(BookingRule.Kind.END).of(new Requested(count(1), BOB))));
        assertEquals(List.of(B, C), chosen(later.of(new Requested(count(2), BOB))));
        assertEquals(List.of(A, B, C), chosen(later.of(new Requested(count(3), BOB))));
    }

    @Test
    void leaseOfAnotherEndsWhenTheBookingBegins() {
        Claim bobs = claim(BOB, A, B);
        assertEquals(Optional.of(HOUR), holdings(LATER).time(bobs, Optional.empty()));
        assertEquals(
                Optional.of(HOUR), holdings(LATER).time(bobs, Optional.of(Duration.ofDays(1))));
        Optional<Duration> less = Optional.of(Duration.ofMinutes(5));
        assertEquals(less, holdings(LATER).time(bobs, less));
        assertEquals(Optional.empty(), holdings(LATER).time(claim(ALICE, A, B), Optional.empty()));
        assertEquals(Optional.empty(), holdings(LATER).time(claim(BOB, B), Optional.empty()));
        assertEquals(Optional.empty(), holdings(PRESENT, OVER).time(bobs, Optional.empty()));
    }

    private static Claim claim(Owner owner, Gpu... gpus) {
        return new Claim(
                ClaimKey.secretless("abc"),
                new Origin.HostProcess("train"),
                owner,
                List.of(gpus).stream().map(ClaimedGpu::of).toList(),
                NOW,
                Optional.empty());
    }

    @Test
    void requestThatMayOutlastTheBeginningIsRefusedIfTheLabWantsThat() throws Exception {
        GpuChoice strict = choice(BookingRule.Kind.REFUSE, LATER);
        Optional<Duration> shorter = Optional.of(HOUR);
        assertEquals(
                List.of(A), chosen(strict.of(TestingLeases.requested(devices(A), BOB, shorter))));
        assertEquals(List.of(A), chosen(strict.of(new Requested(devices(A), ALICE))));
        for (Optional<Duration> time :
                List.of(Optional.<Duration>empty(), Optional.of(HOUR.plusSeconds(1)))) {
            Refusal refusal = refusal(strict.of(TestingLeases.requested(devices(A), BOB, time)));
            assertTrue(refusal.what().contains("is booked for alice from "), refusal::toString);
            assertTrue(
                    refusal.toString().contains("say with --gpu-time that you need less"),
                    refusal::toString);
        }
        assertEquals(List.of(B, C), chosen(strict.of(new Requested(count(2), BOB))));
        assertInstanceOf(Outcome.Taken.class, strict.chosenBy(List.of(A), _ -> true));
        GpuChoice end = choice(BookingRule.Kind.END, LATER);
        assertEquals(List.of(A), chosen(end.of(new Requested(devices(A), BOB))));
        assertEquals(List.of(A), chosen(end.chosenBy(List.of(A), _ -> true)));
    }

    /** MIG mode may be switched off after the booking, and on. */
    @Test
    void bookingOfAnInstanceBarsTheWholeGpuAndNoOtherInstance() throws Exception {
        Gpu instance = TestingLeases.part(A, 0);
        Gpu other = TestingLeases.part(A, 1);
        Booking now =
                Booking.of(
                        1,
                        ALICE,
                        List.of(ClaimedGpu.of(instance)),
                        NOW.minus(HOUR),
                        NOW.plus(HOUR));
        Booking later =
                Booking.of(1, ALICE, List.of(ClaimedGpu.of(instance)), NOW.plus(HOUR), Instant.MAX);
        GpuChoice choice = choice(BookingRule.Kind.END, now);
        for (GpuRequest request : List.of(devices(A), count(3), new GpuRequest.All())) {
            Refusal refusal = refusal(choice.of(new Requested(request, BOB)));
            assertTrue(refusal.what().contains("is booked for alice until "), refusal::toString);
        }
        assertEquals(List.of(A), chosen(choice.of(new Requested(devices(A), ALICE))));
        assertInstanceOf(Outcome.Taken.class, choice.chosenBy(List.of(A), _ -> true));
        assertInstanceOf(
                Outcome.Taken.class,
                choice(BookingRule.Kind.REFUSE, later).of(new Requested(devices(A), BOB)));
        assertEquals(Optional.of(HOUR), holdings(later).time(claim(BOB, A), Optional.empty()));
        assertEquals(
                Optional.of(HOUR), holdings(later).time(claim(BOB, instance), Optional.empty()));
        assertEquals(Optional.empty(), holdings(later).time(claim(BOB, other), Optional.empty()));
        assertEquals(List.of(), holdings(now).bookings(other));
    }

    @Test
    void bookingThatIsOverDoesNotCount() throws Exception {
        for (BookingRule.Kind kind : BookingRule.Kind.values()) {
            GpuChoice choice = choice(kind, OVER);
            assertEquals(List.of(A), chosen(choice.of(new Requested(devices(A), BOB))));
            assertEquals(Optional.empty(), choice.verdict(A).kept());
            assertEquals(List.of(), holdings(OVER).bookings(A));
        }
    }
}
