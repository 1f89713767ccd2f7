package jnvdocker.kubernetes;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Tasks that take a moment, or for ever when a disk does not answer: the caller then continues
 * without the result, while the task goes on.
 */
final class BriefTasks {
    private static final int THREADS = 16;
    private static final int IDLE_SECONDS = 60;

    private final ThreadPoolExecutor threads;

    BriefTasks(String name) {
        threads =
                new ThreadPoolExecutor(
                        0,
                        THREADS,
                        IDLE_SECONDS,
                        TimeUnit.SECONDS,
                        new SynchronousQueue<>(),
                        Thread.ofPlatform().daemon().name(name + "-", 0).factory());
    }

    /**
     * @return whether it is done
     * @throws ExecutionException with what the task has thrown
     */
    boolean perform(Callable<?> task, Duration patience) throws ExecutionException {
        Future<?> result;
        try {
            result = threads.submit(task);
        } catch (RejectedExecutionException e) {
            return false; // Too many have not ended: another would hang, too.
        }
        try {
            result.get(patience.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
