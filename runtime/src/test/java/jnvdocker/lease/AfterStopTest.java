package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.D;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import jnvdocker.host.Gpu;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.request.GpuRequest;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

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
                        Map.of(A.uuid(), new Holdings.Stopped("abc", ALICE, "train-7", 1)),
                        Map.of(),
                        List.of());
        return TestingLeases.choice(
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
        return assertInstanceOf(Outcome.Chosen.class, choice.of(new Requested(request, owner)))
                .gpus();
    }

    @Test
    void ownerGetsItAndOthersDoNot() throws Exception {
        assertEquals(List.of(A, B), chosen(choice(), count(2), ALICE));
        assertEquals(List.of(A), chosen(choice(), devices(A), ALICE));
        assertEquals(List.of(B), chosen(choice(), count(1), BOB));
        for (GpuRequest request : List.of(devices(A), count(2), new GpuRequest.All())) {
            Outcome.Taken taken =
                    assertInstanceOf(Outcome.Taken.class, choice().of(new Requested(request, BOB)));
            String reason = ChoiceText.reason(taken);
            assertEquals(
                    "GPU 0 (" + A.shortUuid() + ") is kept for alice until ",
                    reason.replaceFirst("^.*(?=GPU 0)", "").replaceFirst("(?<=until ).*", ""));
            assertEquals(true, reason.endsWith(", since container train-7 has stopped"), reason);
        }
        assertInstanceOf(Outcome.Taken.class, choice().chosenBy(List.of(A, B), _ -> true));
    }

    @Test
    void timeEndsAndWithoutTheKeyThereIsNone() throws Exception {
        GpuChoice over = choice(POLICY, Duration.ofMinutes(15), List.of());
        assertEquals(List.of(A, B), chosen(over, count(2), BOB));
        assertEquals(Optional.empty(), over.verdict(A).kept());
        GpuChoice without = choice(TestingLeases.POLICY, Duration.ofMinutes(10), List.of());
        assertEquals(List.of(A, B), chosen(without, count(2), BOB));
    }

    /** The GPU may come free, so another one is kept for the client meanwhile. */
    @Test
    void clientThatWaitsIsServedWhenTheTimeIsOver() throws Exception {
        Ticket bob = TestingLeases.ticket(1, BOB, count(2));
        GpuChoice now = choice(POLICY, Duration.ofMinutes(10), List.of(bob));
        assertEquals(Optional.of(bob), now.verdict(B).keptFor());
        assertEquals(Optional.empty(), now.verdict(A).keptFor());
        assertEquals(List.of(A), chosen(now, count(1), ALICE));
        GpuChoice over = choice(POLICY, Duration.ofMinutes(16), List.of(bob));
        assertEquals(Optional.of(bob), over.verdict(A).keptFor());
    }

    private static LeasePolicy limited(int gpus) {
        Limits limits =
                new Limits(
                        List.of(new Rule<>(Subject.EVERYBODY, gpus, "x", "y")),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of());
        return new LeasePolicy(
                limits,
                1,
                List.of(),
                List.of(),
                false,
                Optional.of(Duration.ofMinutes(15)),
                BookingRule.NONE);
    }

    /**
     * A, B and C were given back one after the other, C last.
     *
     * @param owners of the containers on these
     */
    private static Holdings stopped(List<Lease> held, Owner... owners) {
        Map<String, Instant> since = new HashMap<>();
        Map<String, Holdings.Stopped> stopped = new HashMap<>();
        for (int i = 0; i < owners.length; i++) {
            String uuid = List.of(A, B, C).get(i).uuid();
            since.put(uuid, NOW.minusSeconds(60 - i));
            stopped.put(uuid, new Holdings.Stopped("abc" + i, owners[i], "train-" + i, 1));
        }
        return new Holdings(NOW, Holdings.byGpu(held), since, stopped, Map.of(), List.of());
    }

    private static Set<String> kept(Holdings holdings, int limit) {
        LeasePolicy policy = limited(limit);
        return holdings.afterStop(policy.holdAfterStop(), Allowances.of(policy.limits())).keySet();
    }

    @Test
    void keptGpusCountForTheLimitOfTheirOwnerAndTheNewestStay() throws Exception {
        Holdings all = stopped(List.of(), ALICE, ALICE, ALICE);
        assertEquals(Set.of(C.uuid()), kept(all, 1));
        assertEquals(Set.of(B.uuid(), C.uuid()), kept(all, 2));
        assertEquals(Set.of(A.uuid(), B.uuid(), C.uuid()), kept(all, 3));
        assertEquals(Set.of(B.uuid(), C.uuid()), kept(stopped(List.of(), ALICE, BOB, ALICE), 1));
        GpuChoice choice =
                TestingLeases.choice(
                        List.of(A, B, C),
                        GpuTraits.UNKNOWN,
                        all,
                        UnmanagedUses.NONE,
                        List.of(),
                        limited(1));
        assertEquals(List.of(A), chosen(choice, count(1), BOB));
        assertInstanceOf(Outcome.Taken.class, choice.of(new Requested(devices(C), BOB)));
        // What is kept does not bar its owner from another GPU.
        assertEquals(List.of(A), chosen(choice, devices(A), ALICE));
    }

    @Test
    void whatIsHeldComesBeforeWhatIsKept() {
        Lease lease = TestingLeases.held(1, ALICE, "train", D);
        assertEquals(Set.of(), kept(stopped(List.of(lease), ALICE, ALICE, ALICE), 1));
        assertEquals(Set.of(C.uuid()), kept(stopped(List.of(lease), ALICE, ALICE, ALICE), 2));
    }

    @Test
    void nothingIsKeptForAnOwnerWhoseHoursAreUsedUp() {
        Rule<Duration> rule = new Rule<>(Subject.EVERYBODY, Duration.ofHours(1), "x", "y");
        Allowances known = Allowances.of(limited(3).limits());
        Allowance spent = known.of(ALICE).with(Optional.of(new Allowance.Spent(rule, true, NOW)));
        Holdings both = stopped(List.of(), ALICE, BOB);
        assertEquals(
                Set.of(B.uuid()),
                both.afterStop(
                                POLICY.holdAfterStop(),
                                new Allowances(known.limits(), Map.of(ALICE, spent)))
                        .keySet());
    }
}
