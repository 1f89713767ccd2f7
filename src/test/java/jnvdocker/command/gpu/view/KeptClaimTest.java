package jnvdocker.command.gpu.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.attack.Attack;
import jnvdocker.lease.AfterStop;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;

import java.time.Instant;
import java.util.List;

@Attack(
        by = "a member",
        what =
                "gives back kept GPUs by the beginning of several claims' ids, or by a"
                        + " container's name that is one",
        result = "refused, with all of them named")
class KeptClaimTest {
    private static final Owner ALICE = new Owner(1000, "alice");
    private static final Owner BOB = new Owner(1001, "bob");

    private static final AfterStop TRAIN = kept("0a00a1000000", ALICE, "train");
    private static final AfterStop TRAIN_BEFORE = kept("0b2000000000", ALICE, "train");
    private static final AfterStop EVAL = kept("0a00a3000000", ALICE, "eval");
    private static final AfterStop BOBS = kept("0c4000000000", BOB, "twin");
    private static final List<AfterStop> KEPT = List.of(TRAIN, TRAIN, TRAIN_BEFORE, EVAL, BOBS);

    private static AfterStop kept(String claim, Owner owner, String name) {
        return new AfterStop(claim, owner, name, Instant.EPOCH);
    }

    @Test
    void containerIsMeantByItsNameAndAClaimByItsId() throws RefusedException {
        assertEquals(List.of(TRAIN, TRAIN_BEFORE), find("train"));
        assertEquals(List.of(TRAIN), find("0a00a1000000"));
        assertEquals(List.of(TRAIN), find("0a00a1"));
        assertEquals(List.of(EVAL), find("0a00a3"));
        assertEquals(List.of(), find("0d00"));
        assertEquals(List.of(), find("0a3"));
        assertEquals(List.of(), find(""));
    }

    @Test
    void beginningOfSeveralIdsIsRefused() {
        assertEquals(
                "'0a00' matches more than one claim: 0a00a1000000 train, 0a00a3000000 eval; type"
                        + " more of its claim's id",
                refusal("0a00"));
    }

    /** Users choose names freely. */
    @Test
    void nameThatIsTheBeginningOfAnothersIdIsRefused() {
        AfterStop named = kept("0d5000000000", ALICE, "0c40");
        assertEquals(
                "'0c40' matches more than one claim: 0c4000000000 twin, 0d5000000000 0c40; type"
                        + " more of its claim's id",
                assertThrows(
                                RefusedException.class,
                                () -> KeptClaim.find("0c40", List.of(), List.of(BOBS, named)))
                        .getMessage());
    }

    @Test
    void claimThatHoldsGpusCountsToo() throws RefusedException {
        Lease itself = Samples.held(0x7000, "train", 0);
        assertEquals(List.of(), KeptClaim.find("train", List.of(itself), KEPT));
        assertEquals(List.of(TRAIN), KeptClaim.find("0a00a1000000", List.of(itself), KEPT));
        Lease anothers = Samples.held(0x7000, "twin", 0);
        assertThrows(RefusedException.class, () -> KeptClaim.find("twin", List.of(anothers), KEPT));
    }

    private static List<AfterStop> find(String text) throws RefusedException {
        return KeptClaim.find(text, List.of(), KEPT);
    }

    private static String refusal(String text) {
        return assertThrows(RefusedException.class, () -> find(text)).getMessage();
    }
}
