package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import jnvdocker.host.Gpu;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.request.GpuRequest;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** GPU A was alice's until ten minutes ago, and is kept for her for a quarter of an hour. */
class AfterStopTest {
    private static final Instant NOW = Instant.parse("2026-03-05T12:00:00Z");
    private static final LeasePolicy POLICY =
            new LeasePolicy(
                    Limits.NONE,
                    1,
                    List.of(),
                    List.of(),
                    false,
                    Optional.of(Duration.ofMinutes(15)),
                    BookingRule.NONE);

    private static GpuChoice choice(LeasePolicy policy, Duration ago, List<Ticket> waiting) {
        Holdings holdings =
                new Holdings(
                        NOW,
                        Map.of(),
                        Map.of(A.uuid(), NOW.minus(ago)),
                        Map.of(A.uuid(), new Holdings.Stopped("abc", ALICE, "train-7")),
                        Map.of(),
                        List.of());
        return new GpuChoice(
                List.of(A, B), GpuTraits.UNKNOWN, holdings, UnmanagedUses.NONE, waiting, policy);
    }

    private static GpuChoice choice() {
        return choice(POLICY, Duration.ofMinutes(10), List.of());
    }

    private static GpuRequest count(int gpus) {
        return new GpuRequest.Count(gpus);
    }

    private static GpuRequest devices(Gpu gpu) {
        return new GpuRequest.Devices(List.of(gpu.uuid()));
    }

    private static List<Gpu> chosen(GpuChoice choice, GpuRequest request, Owner owner)
            throws Exception {
        return assertInstanceOf(GpuChoice.Chosen.class, choice.of(request, owner)).gpus();
    }

    @Test
    void ownerGetsItAndOthersDoNot() throws Exception {
        assertEquals(List.of(A, B), chosen(choice(), count(2), ALICE));
        assertEquals(List.of(A), chosen(choice(), devices(A), ALICE));
        assertEquals(List.of(B), chosen(choice(), count(1), BOB));
        for (GpuRequest request : List.of(devices(A), count(2), new GpuRequest.All())) {
            GpuChoice.Taken taken =
                    assertInstanceOf(GpuChoice.Taken.class, choice().of(request, BOB));
            String reason = ChoiceText.reason(taken);
            assertEquals(
                    "GPU 0 (" + A.shortUuid() + ") is kept for alice until ",
                    reason.replaceFirst("^.*(?=GPU 0)", "").replaceFirst("(?<=until ).*", ""));
            assertEquals(true, reason.endsWith(", since container train-7 has stopped"), reason);
        }
        assertInstanceOf(GpuChoice.Taken.class, choice().chosenBy(List.of(A, B), _ -> true));
    }

    @Test
    void timeEndsAndWithoutTheKeyThereIsNone() throws Exception {
        GpuChoice over = choice(POLICY, Duration.ofMinutes(15), List.of());
        assertEquals(List.of(A, B), chosen(over, count(2), BOB));
        assertEquals(Optional.empty(), over.setAside(A));
        GpuChoice without = choice(TestingLeases.POLICY, Duration.ofMinutes(10), List.of());
        assertEquals(List.of(A, B), chosen(without, count(2), BOB));
    }

    /** The GPU may come free, so another one is kept for the client meanwhile. */
    @Test
    void clientThatWaitsIsServedWhenTheTimeIsOver() throws Exception {
        Ticket bob = TestingLeases.ticket(1, BOB, count(2));
        GpuChoice now = choice(POLICY, Duration.ofMinutes(10), List.of(bob));
        assertEquals(Optional.of(bob), now.keptFor(B));
        assertEquals(Optional.empty(), now.keptFor(A));
        assertEquals(List.of(A), chosen(now, count(1), ALICE));
        GpuChoice over = choice(POLICY, Duration.ofMinutes(16), List.of(bob));
        assertEquals(Optional.of(bob), over.keptFor(A));
    }
}
