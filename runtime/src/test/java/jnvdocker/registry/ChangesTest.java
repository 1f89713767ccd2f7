package jnvdocker.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.holder.Pace;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;

@Timeout(60)
class ChangesTest {
    private static final Duration LONG = Duration.ofHours(1);

    private final Changes changes = new Changes();

    @Test
    void waiterIsWoken() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        Thread waiter =
                Thread.ofVirtual()
                        .start(() -> {
                            begun.countDown();
                            Pace.REAL.sleep(LONG, changes, 0);
                        });
        begun.await();
        changes.add();
        waiter.join();
        assertEquals(1, changes.count());
    }

    @Test
    void changeBeforeTheWaitIsNotMissed() {
        long seen = changes.count();
        changes.add();
        Pace.REAL.sleep(LONG, changes, seen);
    }

    @Test
    void waitEndsWithoutAChange() {
        Pace.REAL.sleep(Duration.ofMillis(1), changes, 0);
        Pace.REAL.sleep(Duration.ZERO, changes, 0);
        assertEquals(0, changes.count());
    }

    @Test
    void interruptedThreadReturnsAndStaysSo() {
        Thread.currentThread().interrupt();
        Pace.REAL.sleep(LONG, changes, 0);
        assertTrue(Thread.interrupted());
    }
}
