package jnvdocker.kubernetes;

import java.time.Duration;
import java.util.List;

/** Ends the threads of a daemon that stops, so that they do not use what is closed by then. */
final class Threads {
    /** How long to wait for threads; one that hangs in the driver or on a disk is abandoned. */
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private Threads() {}

    static void end(List<Thread> threads) {
        threads.forEach(Thread::interrupt);
        try {
            for (Thread thread : threads) {
                thread.join(PATIENCE);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
