package jnvdocker.holder;

import jnvdocker.registry.Changes;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/** Time by a clock that never jumps, and how threads wait and run in it. */
public interface Pace {
    /** The system's clock. */
    Pace REAL =
            new Pace() {
                @Override
                public long nanos() {
                    return System.nanoTime();
                }

                @Override
                public Moment moment() {
                    return new Moment(nanos(), Pressure.now());
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

                @Override
                public <T> Supplier<T> meanwhile(Supplier<T> question) {
                    CompletableFuture<T> answer =
                            CompletableFuture.supplyAsync(question, Thread::startVirtualThread);
                    return () -> {
                        try {
                            return answer.join();
                        } catch (CompletionException e) {
                            if (e.getCause() instanceof RuntimeException failure) {
                                throw failure;
                            }
                            throw e;
                        }
                    };
                }
            };

    /** Nanoseconds since some moment. */
    long nanos();

    /**
     * A moment, from which on the time can be measured that is left to the work of this machine.
     */
    record Moment(long nanos, Pressure pressure) {
        /**
         * The time since an earlier moment. What takes a while on an idle machine takes longer on a
         * loaded one, so the time in which processes had to wait for a processor, for memory or for
         * disks counts a tenth.
         */
        public Duration calmSince(Moment before) {
            long passed = nanos - before.nanos;
            long waited = Math.clamp(pressure.since(before.pressure), 0L, passed);
            return Duration.ofNanos(passed - waited + waited / 10);
        }
    }

    /** This moment. */
    default Moment moment() {
        return new Moment(nanos(), Pressure.NONE);
    }

    /** The time since then that was left to the work of this machine. */
    default Duration calm(Moment before) {
        return moment().calmSince(before);
    }

    /** Does a task on a thread of its own, after that time. */
    void later(Duration delay, Runnable task);

    /**
     * Has a question answered while the caller does something else. Taking the answer waits for it,
     * and throws the question's exception if there is none. Where threads take turns, the question
     * is answered at once.
     */
    default <T> Supplier<T> meanwhile(Supplier<T> question) {
        try {
            T answer = question.get();
            return () -> answer;
        } catch (RuntimeException e) {
            return () -> {
                throw e;
            };
        }
    }

    /**
     * Takes an answer.
     *
     * @throws IOException that its question has thrown as an unchecked one
     */
    static <T> T taken(Supplier<T> answer) throws IOException {
        try {
            return answer.get();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /** Returns early when the thread is interrupted, and leaves it so. */
    void sleep(Duration duration);

    /**
     * Sleeps until there are more changes, or the thread is interrupted, or the time is over.
     *
     * @param seen how many of them the caller knows of
     */
    void sleep(Duration longest, Changes changes, long seen);
}
