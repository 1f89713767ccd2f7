package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.decision.RecentRefusals;
import jnvdocker.decision.RecentRefusals.Refused;
import jnvdocker.lease.Owner;

import org.junit.jupiter.api.Test;

import java.time.Instant;
import java.util.List;

class RecentRefusalsTest {
    private static final Instant NINE = Instant.parse("2026-03-05T09:00:00Z");
    private static final Owner ALICE = new Owner(1000, "alice");
    private static final Owner BOB = new Owner(1001, "bob");

    private final RecentRefusals refusals = new RecentRefusals();

    private List<String> purposes() {
        return refusals.latest().stream().map(Refused::purpose).toList();
    }

    @Test
    void latestComesFirstAndARepeatedOneCountsOnce() {
        refusals.add(NINE, ALICE, "container a", "no GPU is free");
        refusals.add(NINE, BOB, "container b", "no GPU is free");
        refusals.add(NINE.plusSeconds(1), ALICE, "container a", "no GPU is free");
        assertEquals(List.of("container a", "container b"), purposes());
        assertEquals(NINE.plusSeconds(1), refusals.latest().getFirst().at());
    }

    @Test
    void oneUsersManyLeaveThoseOfOthers() {
        refusals.add(NINE, BOB, "container b", "x");
        for (int i = 0; i < 1000; i++) {
            refusals.add(NINE, ALICE, "container " + i, "x".repeat(10_000));
        }
        assertEquals(41, refusals.latest().size());
        assertEquals("container 999", purposes().getFirst());
        assertEquals("container b", purposes().getLast());
        assertTrue(refusals.latest().getFirst().why().length() < 3000);
    }

    /** A member of the group docker writes labels as it likes. */
    @Test
    void forgedNamesLeaveThoseOfUsers() {
        refusals.add(NINE, BOB, "container b", "x");
        for (int i = 0; i < 1000; i++) {
            refusals.add(NINE, Owner.guessed("user" + i), "container " + i, "x");
        }
        assertEquals(41, refusals.latest().size());
        assertEquals("container b", purposes().getLast());
    }

    @Test
    void manyUsersAreBounded() {
        for (int i = 0; i < 5000; i++) {
            refusals.add(NINE, new Owner(i, "user" + i), "container " + i, "x");
        }
        assertEquals(400, refusals.latest().size());
        assertEquals("container 4999", purposes().getFirst());
    }
}
