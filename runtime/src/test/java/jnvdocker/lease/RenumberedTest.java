package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.POLICY;
import static jnvdocker.lease.TestingLeases.gpu;
import static jnvdocker.lease.TestingLeases.held;
import static jnvdocker.lease.TestingLeases.holdings;
import static jnvdocker.lease.TestingLeases.part;
import static jnvdocker.lease.TestingLeases.ticket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The driver has given out the numbers of the nodes anew while holders have the old ones. */
class RenumberedTest {
    /** B has the node that A had, and the other way round. */
    private static final Gpu NOW_A = gpu(0, A.uuid(), B.minor());

    private static final Gpu NOW_B = gpu(1, B.uuid(), A.minor());
    private static final Lease TRAIN = held(1, ALICE, "train-7", A);

    private static GpuChoice choice(Lease... leases) {
        return TestingLeases.choice(
                List.of(NOW_A, NOW_B, C),
                GpuTraits.UNKNOWN,
                holdings(List.of(leases), Map.of()),
                UnmanagedUses.NONE,
                List.of(),
                POLICY);
    }

    private static Outcome of(GpuRequest request, Owner owner, Lease... leases)
            throws RefusedException {
        return choice(leases).of(new Requested(request, owner));
    }

    private static GpuRequest device(Gpu gpu) {
        return new GpuRequest.Devices(List.of(gpu.uuid()));
    }

    @Test
    void cardThatAHolderMayOpenIsRefusedWithWhoseItIs() throws RefusedException {
        Outcome.Taken taken = assertInstanceOf(Outcome.Taken.class, of(device(B), BOB, TRAIN));
        assertEquals(List.of(TRAIN), taken.leases());
        assertEquals(
                "GPU 1 (GPU-5c1a2006) is open to alice's container train-7, which was given"
                        + " /dev/nvidia3 as GPU 0 (GPU-5c1a1003)",
                ChoiceText.reason(taken));
        assertEquals(
                new Outcome.Chosen(List.of(C)),
                of(new GpuRequest.Count(1, GpuFilter.ANY), BOB, TRAIN));
    }

    @Test
    void cardIsNotFreeBeforeTheLastWhoMayOpenItHasEnded() throws RefusedException {
        Lease second = held(2, BOB, "train-8", B);
        Outcome.Taken taken =
                assertInstanceOf(Outcome.Taken.class, of(device(B), BOB, TRAIN, second));
        assertEquals(List.of(second, TRAIN), taken.leases());
        assertInstanceOf(Outcome.Taken.class, of(device(B), BOB, TRAIN));
        assertEquals(new Outcome.Chosen(List.of(NOW_B)), of(device(B), BOB));
    }

    @Test
    void nobodyJoinsAHolderOfACardThatAnotherMayOpen() throws RefusedException {
        Lease second = held(2, BOB, "train-8", B);
        GpuRequest with = new GpuRequest.With("train-8");
        Outcome.Taken taken = assertInstanceOf(Outcome.Taken.class, of(with, BOB, TRAIN, second));
        assertEquals(List.of(TRAIN), taken.leases());
        assertInstanceOf(Outcome.Chosen.class, of(with, BOB, second));
    }

    /** The scheduler has given it the other one. */
    @Test
    void schedulerThatHasGivenAnotherDoesNotGetIt() {
        assertInstanceOf(Outcome.Taken.class, choice(TRAIN).chosenBy(List.of(NOW_B), _ -> true));
        assertInstanceOf(Outcome.Chosen.class, choice(TRAIN).chosenBy(List.of(NOW_A), _ -> true));
    }

    @Test
    void whoWaitsForItIsServedWhenThatHolderEnds() {
        GpuChoice choice = choice(TRAIN);
        choice = choice.keeping(ticket(1, BOB, device(B))).orElseThrow();
        assertEquals(List.of(), List.copyOf(choice.keepers()));
        // One's own does not end by waiting.
        assertTrue(choice.keeping(ticket(2, ALICE, device(B))).isEmpty());
    }

    @Test
    void instanceIsOpenByItsOwnCapabilitiesAlone() {
        Gpu whole = gpu(0, A.uuid(), 0);
        Lease lease = held(1, ALICE, "train-7", part(whole, 0));
        Gpu other = gpu(1, B.uuid(), 0);
        assertTrue(lease.opened(ClaimedGpu.of(part(other, 0))).isPresent());
        assertEquals(Optional.empty(), lease.opened(ClaimedGpu.of(part(other, 1))));
        // The node of the whole GPU is enough where it is in MIG mode no longer.
        assertTrue(lease.opened(ClaimedGpu.of(other)).isPresent());
        // Its own are no others.
        assertEquals(Optional.empty(), lease.opened(ClaimedGpu.of(whole)));
        assertEquals(Optional.empty(), lease.opened(ClaimedGpu.of(part(whole, 1))));
    }
}
