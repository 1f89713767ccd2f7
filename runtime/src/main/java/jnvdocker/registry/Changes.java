package jnvdocker.registry;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Counts the changes by which others may have GPUs than before, and wakes the threads that wait.
 */
public final class Changes {
    private long count;

    /** How many there were. */
    public synchronized long count() {
        return count;
    }

    public synchronized void add() {
        count++;
        notifyAll();
    }

    /**
     * Waits until there is one more, at most for that time.
     *
     * @param seen how many the caller knows of
     * @throws InterruptedException when the thread is interrupted
     */
    public synchronized void await(long seen, Duration longest) throws InterruptedException {
        long end = System.nanoTime() + longest.toNanos();
        while (count == seen) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                return;
            }
            wait(left);
        }
    }
}
