package jnvdocker.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.posix.Peer;
import jnvdocker.protocol.FrameMemory.Account;
import jnvdocker.protocol.FrameMemory.FullException;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The memory of each user's connections, and the reserve for root's. */
class FrameMemoryTest {
    private static final Peer ROOT = new Peer(1, 0);
    private static final Peer ALICE = new Peer(2, 1000);
    private static final Peer BOB = new Peer(3, 1001);
    private static final FrameMemory.Limits LIMITS = new FrameMemory.Limits(1000, 1500, 800, 10, 3);

    private final FrameMemory memory = new FrameMemory(LIMITS, Duration.ZERO);

    private static void assertFull(Account account, long bytes) {
        assertThrows(FullException.class, () -> account.take(bytes));
    }

    @Test
    void eachUserHasAShareAndRootHasMemoryOfItsOwn() throws IOException {
        Account alice = memory.open(ALICE);
        alice.take(790);
        assertFull(alice, 11);
        assertFull(memory.open(ALICE), 11);
        Account bob = memory.open(BOB);
        bob.take(700);
        assertFull(bob, 1);
        Account root = memory.open(ROOT);
        root.take(750);
        assertFull(root, 1);
        alice.close();
        bob.take(100);
    }

    /** Which may be those of an engine for one user's containers. */
    @Test
    void longRequestsOfRootLeaveAQuarterToShortOnes() throws IOException {
        memory.open(ROOT).take(500);
        Account second = memory.open(ROOT);
        assertFull(second, 251);
        second.take(250);
        for (int i = 0; i < 4; i++) {
            memory.open(ROOT).take(60);
        }
        second.close();
        assertFull(memory.open(ROOT), 63);
    }

    @Test
    void connectionsOfOneUserAreLimitedAndRootsAreNot() throws IOException {
        List<Account> alices = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            alices.add(memory.open(ALICE));
        }
        var refused = assertThrows(FullException.class, () -> memory.open(ALICE));
        assertTrue(refused.getMessage().startsWith("uid 1000 has 3 unanswered commands"));
        memory.open(BOB);
        for (int i = 0; i < 100; i++) {
            memory.open(ROOT);
        }
        assertThrows(FullException.class, () -> memory.open(ROOT), "an empty one takes 10");
        alices.getFirst().close();
        memory.open(ALICE);
    }

    @Test
    void whatIsGivenBackIsThereForOthers() throws Exception {
        FrameMemory patient = new FrameMemory(LIMITS, Duration.ofSeconds(60));
        Account one = patient.open(ALICE);
        Account other = patient.open(ALICE);
        one.take(700);
        var waiting =
                CompletableFuture.runAsync(() -> {
                    try {
                        other.take(300);
                    } catch (IOException e) {
                        throw new AssertionError(e);
                    }
                });
        one.give(300);
        waiting.join();
        // A request that can never be granted does not wait.
        assertFull(other, 10_000);
        one.close();
        one.close();
        other.close();
        assertEquals(0, patient.taken());
    }

    @Test
    void aConnectionsOwnIsUsedFirst() throws IOException {
        Account alice = memory.open(ALICE);
        assertEquals(10, memory.taken());
        alice.take(7);
        assertEquals(10, memory.taken());
        alice.take(7);
        assertEquals(14, memory.taken());
        alice.give(14);
        assertEquals(10, memory.taken());
    }
}
