package jnvdocker.holder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.registry.Changes;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Work that is done again and again, by a clock that passes as soon as a thread sleeps. */
@Timeout(60)
class PeriodicTest {
    private static final Duration PERIOD = Duration.ofHours(1);

    private final List<String> done = new CopyOnWriteArrayList<>();

    /** Ends the thread that sleeps for the third time. */
    private final class Clock implements Pace {
        private int sleeps;

        @Override
        public long nanos() {
            return 0;
        }

        @Override
        public void later(Duration delay, Runnable task) {
            task.run();
        }

        @Override
        public void sleep(Duration duration) {
            done.add("sleeps " + duration.toHours() + "h");
            if (++sleeps == 3) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void sleep(Duration longest, Changes changes, long seen) {
            if (changes.count() == seen) {
                sleep(longest);
            } else {
                done.add("is woken");
            }
        }
    }

    private Periodic periodic(Periodic.Task task) {
        return new Periodic("test", PERIOD, task).in(new Clock());
    }

    private void awaitEnd(Periodic periodic) throws InterruptedException {
        while (done.stream().filter(it -> it.startsWith("sleeps")).count() < 3) {
            Thread.onSpinWait();
        }
        assertTrue(periodic.end(Duration.ofSeconds(30)));
    }

    @Test
    void workIsDoneAtOnceAndAfterEachPeriod() throws Exception {
        awaitEnd(periodic(() -> done.add("works")).start());
        assertEquals(
                List.of("works", "sleeps 1h", "works", "sleeps 1h", "works", "sleeps 1h"), done);
    }

    @Test
    void workForLaterWaitsFirst() throws Exception {
        awaitEnd(periodic(() -> done.add("works")).later().start());
        assertEquals(List.of("sleeps 1h", "works", "sleeps 1h", "works", "sleeps 1h"), done);
    }

    /** What changes during the work may not be part of the work's result. */
    @Test
    void changeDuringTheWorkHasItDoneAgain() throws Exception {
        Changes changes = new Changes();
        Periodic periodic =
                periodic(
                                () -> {
                                    if (done.isEmpty()) {
                                        changes.add();
                                    }
                                    done.add("works");
                                })
                        .after(changes);
        awaitEnd(periodic.start());
        assertEquals(
                List.of("works", "is woken", "works", "sleeps 1h", "works", "sleeps 1h"),
                done.subList(0, 6));
    }

    @Test
    void workThatFailsIsDoneAgainAfterThePeriod() throws Exception {
        Periodic periodic =
                periodic(
                                () -> {
                                    done.add("works");
                                    throw new IOException("no such file");
                                })
                        .failing("cannot work");
        awaitEnd(periodic.start());
        assertEquals(List.of("works", "sleeps 1h", "works"), done.subList(0, 3));
    }

    /** Even if that comes before it has begun. */
    @Test
    void threadThatIsWokenWorksAtOnce() throws Exception {
        Periodic periodic = new Periodic("test", PERIOD, () -> done.add("works")).later();
        periodic.wake();
        periodic.start();
        while (done.isEmpty()) {
            Thread.onSpinWait();
        }
        assertTrue(periodic.end(Duration.ofSeconds(30)));
    }
}
