package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.held;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.host.Part.Slices;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** GPU A has three MIG instances, of 4, 2 and 1 of its 7 slices; each user may have one GPU. */
class InstanceLimitTest {
    private static final Gpu FOUR = instance(0, 4);
    private static final Gpu TWO = instance(1, 2);
    private static final Gpu ONE = instance(2, 1);
    private static final List<Gpu> PARTS = List.of(FOUR, TWO, ONE);
    private static final List<Gpu> MIXED = List.of(FOUR, TWO, ONE, B);

    private static Gpu instance(int number, int slices) {
        return TestingLeases.part(A, number, Optional.of(new Slices(slices, 7)));
    }

    private static GpuChoice choice(List<Gpu> gpus, int limit, Lease... leases) {
        return TestingLeases.choice(
                gpus,
                GpuTraits.UNKNOWN,
                TestingLeases.holdings(List.of(leases), Map.of()),
                UnmanagedUses.NONE,
                List.of(),
                TestingLeases.policy(OptionalInt.of(limit), Optional.empty(), List.of(), false));
    }

    private static List<Gpu> chosen(GpuChoice choice, String option) throws RefusedException {
        Outcome outcome = choice.of(new Requested(GpuRequest.parseOption(option), ALICE));
        return assertInstanceOf(Outcome.Chosen.class, outcome).gpus();
    }

    private static String refusal(GpuChoice choice, String option) throws RefusedException {
        return switch (choice.of(new Requested(GpuRequest.parseOption(option), ALICE))) {
            case Outcome.Impossible why -> Refusals.of(why, Addressee.COMMAND).message();
            case Outcome.Busy busy -> Refusals.of(busy, Addressee.COMMAND).message();
            case Outcome.Chosen chosen -> throw new AssertionError(chosen);
        };
    }

    @Test
    void allInstancesOfAGpuAreOneGpu() throws Exception {
        assertEquals(PARTS, chosen(choice(PARTS, 1), "all"));
        assertEquals(PARTS, chosen(choice(PARTS, 1), "device=0:0,0:1,0:2"));
        assertEquals(
                List.of(ONE),
                chosen(choice(PARTS, 1, held(1, ALICE, "x", FOUR, TWO)), "device=0:2"));
        assertEquals(
                "2 GPUs requested, but each user may have 1 at a time (limits.*.gpus); request"
                        + " fewer",
                refusal(choice(MIXED, 1), "device=0:2,1"));
    }

    @Test
    void aRefusalSaysAsHowManyTheyCount() throws Exception {
        assertTrue(
                refusal(choice(MIXED, 1, held(1, ALICE, "x", FOUR, TWO)), "device=1")
                        .startsWith(
                                "alice has 0.86 of the 1 GPU that each user may have"
                                        + " (limits.*.gpus): container x holds GPUs 0:0,0:1"));
    }

    /** Whole GPUs come first where they are within the limit. */
    @Test
    void aNumberGetsThoseThatAreWithinTheLimit() throws Exception {
        assertEquals(List.of(B), chosen(choice(MIXED, 1), "1"));
        assertEquals(List.of(TWO), chosen(choice(MIXED, 1, held(1, ALICE, "x", FOUR)), "1"));
        // Two of them count as two of the larger one.
        assertTrue(
                refusal(choice(PARTS, 1, held(1, ALICE, "x", FOUR)), "2")
                        .contains("alice has 0.57 of the 1"));
        assertEquals(List.of(FOUR, TWO), chosen(choice(PARTS, 2), "2"));
        Lease[] most = {held(1, ALICE, "x", FOUR), held(2, BOB, "y", TWO)};
        assertEquals(List.of(ONE), chosen(choice(MIXED, 1, most), "1"));
        Lease whole = held(1, ALICE, "x", B);
        assertTrue(refusal(choice(MIXED, 1, whole), "1").contains("alice has 1 of the 1"));
    }

    /** Else nobody would get an instance that its client may not have. */
    @Test
    void onlyWhatIsWithinTheLimitIsKeptForAClient() throws Exception {
        Lease[] leases = {held(1, BOB, "x", TWO, ONE), held(2, BOB, "y", B)};
        GpuChoice choice = choice(MIXED, 2, leases);
        Ticket ticket = TestingLeases.ticket(1, BOB, new GpuRequest.Count(1));
        choice = choice.keeping(ticket).orElseThrow();
        assertTrue(refusal(choice, "1").contains("kept for bob"));
        choice = choice(MIXED, 1, leases);
        assertTrue(choice.keeping(ticket).isEmpty());
        assertEquals(List.of(FOUR), chosen(choice, "1"));
    }

    @Test
    void anInstanceOfUnknownSizeIsAWholeGpu() throws Exception {
        Gpu unknown = TestingLeases.part(A, 3, Optional.empty());
        List<Gpu> gpus = List.of(FOUR, unknown);
        assertEquals(List.of(unknown), chosen(choice(gpus, 1), "device=0:3"));
        assertTrue(
                refusal(choice(gpus, 1, held(1, ALICE, "x", unknown)), "1")
                        .contains("alice has 1 of the 1"));
    }

    @Test
    void aClaimRemembersTheSlices() {
        for (Gpu gpu : List.of(FOUR, ONE, TestingLeases.part(A, 3, Optional.empty()))) {
            ClaimedGpu claimed = ClaimedGpu.of(gpu);
            assertEquals(
                    claimed,
                    ClaimedGpu.read(gpu.uuid(), gpu.index(), gpu.minor(), claimed.partWord()));
        }
    }
}
