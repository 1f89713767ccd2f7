package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** A directory service that is slow, fails or never answers. */
@Attack(
        by = "a directory of users",
        what = "never answers, for 1,000 uids",
        result = "nobody waits; the number is shown")
class SlowQueriesTest {
    private static final Duration NOT_AT_ALL = Duration.ZERO;
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final int THREADS = 2;

    private final AtomicInteger requested = new AtomicInteger();
    private final AtomicLong nanos = new AtomicLong();
    private final Semaphore ended = new Semaphore(0);
    private final CountDownLatch back = new CountDownLatch(1);
    private volatile boolean away;
    private volatile boolean fails;
    private volatile String name = "alice";
    private final SlowQueries<Integer, String> names =
            new SlowQueries<>("test", THREADS, this::query, nanos::get);

    private Optional<String> query(int uid) throws PosixException {
        requested.incrementAndGet();
        try {
            if (away) {
                back.await();
            }
            if (fails) {
                throw new PosixException("getpwuid_r", 5, "Input/output error");
            }
            return uid < 1000 ? Optional.empty() : Optional.of(name);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } finally {
            ended.release();
        }
    }

    @AfterEach
    void comeBack() {
        back.countDown();
    }

    private String name(int uid) throws NoAnswerException {
        return names.query(uid, LONG).orElse("none");
    }

    private void assertNotKnown(int uid) {
        assertThrows(NoAnswerException.class, () -> names.query(uid, NOT_AT_ALL));
    }

    @Test
    void answersAreRemembered() throws Exception {
        for (int i = 0; i < 3; i++) {
            assertEquals("alice", name(1001));
            assertEquals("none", name(7));
        }
        assertEquals(2, requested.get());
        nanos.addAndGet(Duration.ofMinutes(11).toNanos());
        name = "bob";
        assertEquals("bob", name(1001));
    }

    @Test
    void nobodyWaitsForWhoDoesNotAnswer() throws Exception {
        away = true;
        for (int uid = 1000; uid < 2000; uid++) {
            assertNotKnown(uid);
        }
        // No more than 256 questions are queued.
        back.countDown();
        ended.acquire(256);
        assertEquals(256, requested.get());
        assertEquals("alice", name(1000));
    }

    @Test
    void nameThatWasQueriedOnceIsNotWaitedForAgain() throws Exception {
        away = true;
        assertNotKnown(1001);
        nanos.addAndGet(LONG.toNanos());
        // Returns at once, or never.
        assertThrows(NoAnswerException.class, () -> name(1001));
        assertEquals("none", ofOthers());
    }

    private String ofOthers() throws NoAnswerException {
        away = false;
        return name(7);
    }

    @Test
    void failureIsNoAnswerAndTakesNoneAway() throws Exception {
        assertEquals("alice", name(1001));
        fails = true;
        nanos.addAndGet(Duration.ofMinutes(11).toNanos());
        assertEquals("alice", name(1001));
        assertThrows(NoAnswerException.class, () -> name(1002));
        assertThrows(NoAnswerException.class, () -> name(1002));
        assertEquals(3, requested.get());
    }

    @Test
    void oldAnswerCountsUntilThereIsANewOne() throws Exception {
        assertEquals("alice", name(1001));
        nanos.addAndGet(Duration.ofMinutes(11).toNanos());
        away = true;
        assertEquals("alice", names.query(1001, NOT_AT_ALL).orElseThrow());
    }
}
