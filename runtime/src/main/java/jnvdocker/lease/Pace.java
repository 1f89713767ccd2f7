package jnvdocker.lease;

import java.time.Duration;

/** Time that only passes: the wall clock may be set, forth and back. */
public interface Pace {
    /** The one that everybody waits by. */
    Pace REAL =
            new Pace() {
                @Override
                public long nanos() {
                    return System.nanoTime();
                }

                @Override
                public void sleep(Duration duration) {
                    try {
                        Thread.sleep(duration);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }

                @Override
                public void sleep(Duration longest, Changes changes, long seen) {
                    try {
                        changes.await(seen, longest);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }

                @Override
                public void later(Duration delay, Runnable task) {
                    Thread.ofVirtual()
                            .start(() -> {
                                sleep(delay);
                                task.run();
                            });
                }
            };

    /** Nanoseconds since some moment. */
    long nanos();

    /** Does a task on a thread of its own, after that time. */
    void later(Duration delay, Runnable task);

    /** Returns early when the thread is interrupted, and leaves it so. */
    void sleep(Duration duration);

    /**
     * The same, but returns as soon as there are more changes.
     *
     * @param seen how many of them the caller knows of
     */
    void sleep(Duration longest, Changes changes, long seen);
}
