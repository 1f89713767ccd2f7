package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.D;
import static jnvdocker.lease.TestingLeases.THEN;
import static jnvdocker.lease.TestingLeases.held;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.host.Gpu;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Optional;

class HolderNameTest {
    private static final Lease TRAIN = held(0xa1b2c3d4e5f6L, ALICE, "train-7", A);
    private static final Lease PROGRAM = of(0xb1, new Origin.HostProcess("train.py"), B);
    private static final Lease TASK = of(0xb2, new Origin.MesosTask("night job"), C);
    private static final Lease POD = of(0xb3, new Origin.Pod("uid", "team-a", "web-0"), D);
    private static final List<Lease> ALL = List.of(TRAIN, PROGRAM, TASK, POD);

    private static Lease of(long id, Origin origin, Gpu gpu) {
        Claim claim =
                new Claim(
                        TestingLeases.key("%012x".formatted(id)),
                        origin,
                        ALICE,
                        List.of(ClaimedGpu.of(gpu)),
                        THEN,
                        Optional.empty());
        return new Lease(
                id,
                claim,
                Holder.of(CLIENT, ""),
                "boot",
                THEN,
                Optional.empty(),
                0,
                Optional.empty());
    }

    /** Whoever copies a name from the list is understood. */
    @Test
    void whatListsShowMeansTheHolder() {
        for (Lease lease : ALL) {
            assertEquals(List.of(lease), HolderName.meant(HolderName.shown(lease), ALL));
            assertEquals(List.of(lease), HolderName.meant(HolderName.typed(lease.claim()), ALL));
            assertEquals(List.of(lease), HolderName.meant(lease.claim().id(), ALL));
        }
        assertEquals("train.py (pid 4711)", HolderName.shown(PROGRAM));
        assertEquals("Mesos task night job", HolderName.shown(TASK));
        assertEquals("pod team-a/web-0", HolderName.shown(POD));
    }

    @ParameterizedTest
    @ValueSource(strings = {"train-7", "train-…", "a1b2", "a1b2c3d4e5f6", "cccc", "cccccccccccc"})
    void containerIsNamedByItsNameOrAnId(String word) {
        assertEquals(List.of(TRAIN), HolderName.meant(word, ALL));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "train", "a1b", "ccc", "…", "tr…", "4711", "cuda", "b1", "team-a"})
    void otherWordsMeanNobody(String word) {
        assertEquals(List.of(), HolderName.meant(word, ALL));
    }

    @Test
    void podIsNamedWithoutItsNamespaceToo() {
        assertEquals(List.of(POD), HolderName.meant("web-0", ALL));
    }

    @Test
    void longNameIsMeantAsItIsAndAsListsShowIt() {
        Lease longest = held(0xc1, ALICE, "n".repeat(300), B);
        List<Lease> all = List.of(TRAIN, longest);
        assertEquals(List.of(longest), HolderName.meant("n".repeat(300), all));
        assertEquals(List.of(longest), HolderName.meant(HolderName.shown(longest), all));
    }

    /** Otherwise a container's name could cause the release of another's claim. */
    @Test
    void nameTakesNoPrecedenceOverTheBeginningOfAnId() {
        Lease named = held(0xc2, ALICE, "a1b2c3", B);
        assertEquals(List.of(TRAIN, named), HolderName.meant("a1b2c3", List.of(TRAIN, named)));
        Lease whole = held(0xc3, ALICE, TRAIN.claim().id(), B);
        assertEquals(List.of(TRAIN), HolderName.meant(TRAIN.claim().id(), List.of(TRAIN, whole)));
    }
}
