package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

@Attack(
        by = "a fault",
        what =
                "anything is thrown in a loop that runs for as long as the daemon, or a claim's"
                        + " directory vanishes while it is deleted",
        result = "logged once; the loop begins again, and the deletion goes on")
class PermanentThreadTest {
    @Test
    void loopBeginsAgainWhateverItThrows() {
        Iterator<Throwable> failures =
                List.of(
                                new UncheckedIOException(new IOException("gone")),
                                new IOException("closed"),
                                new OutOfMemoryError("too much"),
                                new StackOverflowError(),
                                new AssertionError())
                        .iterator();
        AtomicInteger runs = new AtomicInteger();
        new PermanentThread(
                        () -> {
                            runs.incrementAndGet();
                            if (failures.hasNext()) {
                                throwAny(failures.next());
                            }
                        },
                        Duration.ZERO)
                .run();
        assertEquals(6, runs.get());
    }

    private static void throwAny(Throwable failure) throws Exception {
        switch (failure) {
            case Exception exception -> throw exception;
            case Error error -> throw error;
            default -> throw new AssertionError(failure);
        }
    }

    @Test
    void interruptEndsItAlsoAfterAFailure() throws InterruptedException {
        CountDownLatch failed = new CountDownLatch(1);
        Thread thread =
                PermanentThread.platform(
                        "failing",
                        () -> {
                            failed.countDown();
                            throw new IllegalStateException("always");
                        });
        thread.start();
        failed.await();
        thread.interrupt();
        assertTrue(thread.join(Duration.ofSeconds(60)));
    }
}
