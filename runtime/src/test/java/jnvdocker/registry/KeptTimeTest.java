package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.DOCKERD;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.TestingLeases;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** GPUs are kept for two hours after a stop, and count for their owner then. */
class KeptTimeTest extends OneRegistryTest {
    private static final Instant START = Instant.parse("2024-01-02T00:00:00Z");
    private static final Optional<Duration> KEPT = Optional.of(Duration.ofHours(2));

    KeptTimeTest() {
        super(START);
    }

    private void at(int hours) {
        now = START.plus(Duration.ofHours(hours));
    }

    private Lease begin(Owner owner, Gpu... gpus) throws IOException {
        Claim claim = TestingLeases.claim(TestingLeases.newKey().id(), owner, gpus);
        TestingLeases.reserve(registry, claim, CLIENT);
        TestingLeases.mount(registry, claim, "use", DOCKERD);
        return registry.liveOf(claim.id()).orElseThrow();
    }

    private void container(int from, int until, Owner owner, Gpu... gpus) throws IOException {
        at(from);
        Lease lease = begin(owner, gpus);
        at(until);
        assertTrue(TestingLeases.end(registry, lease, "seen"));
    }

    private void assertHours(int hours, Owner owner, int from, Optional<Duration> kept)
            throws IOException {
        Instant since = START.plus(Duration.ofHours(from));
        assertEquals(
                Duration.ofHours(hours), registry.history().gpuTimeWithKept(since, kept).of(owner));
    }

    @Test
    void keptTimeCountsUntilItIsOver() throws Exception {
        container(0, 1, ALICE, A, B);
        assertHours(2, ALICE, 0, KEPT);
        at(2);
        assertHours(4, ALICE, 0, KEPT);
        assertHours(2, ALICE, 0, Optional.empty());
        at(9);
        assertHours(6, ALICE, 0, KEPT);
        assertHours(2, ALICE, 2, KEPT);
        assertHours(0, ALICE, 3, KEPT);
        assertEquals(
                Duration.ofHours(2),
                registry.history().gpuTime(START, Optional.empty(), Optional.empty()).total());
    }

    @Test
    void keptTimeEndsWithTheNextLease() throws Exception {
        container(0, 1, ALICE, A);
        container(2, 3, ALICE, A);
        container(3, 4, BOB, A);
        at(9);
        assertHours(3, ALICE, 0, KEPT);
        assertHours(3, BOB, 0, KEPT);
    }

    @Test
    void whatIsGivenUpCountsNoLonger() throws Exception {
        container(0, 1, ALICE, A, B);
        at(2);
        registry.decide(leases -> {
            leases.giveUp(A.uuid());
            return null;
        });
        assertEquals(1, registry.holdings().stopped().size());
        at(9);
        assertHours(5, ALICE, 0, KEPT);
    }

    @Test
    void whatIsReleasedCountsNoLonger() throws Exception {
        at(0);
        Lease lease = begin(ALICE, A, B);
        at(1);
        assertTrue(TestingLeases.end(registry, lease, "seen"));
        registry.decide(leases -> {
            leases.forgetStop(lease.claim().id());
            return null;
        });
        at(9);
        assertHours(2, ALICE, 0, KEPT);
    }

    /** Others of the party have the GPU still, and that counts already. */
    @Test
    void containerWhosePartyGoesOnKeepsNothing() throws Exception {
        at(0);
        Lease first = begin(ALICE, A);
        Claim claim =
                new Claim(
                        TestingLeases.newKey(),
                        first.claim().origin(),
                        ALICE,
                        first.claim().gpus(),
                        first.claim().created(),
                        Optional.empty(),
                        first.claim().party());
        registry.decide(leases -> {
            leases.add(claim, Optional.empty());
            return null;
        });
        Lease second = TestingLeases.mount(registry, claim, "use", DOCKERD);
        at(1);
        TestingLeases.end(registry, second, "seen");
        at(4);
        TestingLeases.end(registry, first, "seen");
        at(9);
        assertHours(6, ALICE, 0, KEPT);
    }

    @Test
    void reservationsAndWhatIsReleasedByForceKeepNothing() throws Exception {
        at(0);
        Claim claim = TestingLeases.claim(TestingLeases.newKey().id(), ALICE, A);
        TestingLeases.reserve(registry, claim, CLIENT);
        Lease forced = begin(ALICE, B);
        at(1);
        TestingLeases.end(registry, registry.liveOf(claim.id()).orElseThrow(), "seen");
        TestingLeases.end(registry, forced, "released by force by root");
        at(9);
        assertHours(2, ALICE, 0, KEPT);
    }
}
