package jnvdocker.docker.engine;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Calls of an engine, each with a limit: the transport sets none to the time that an engine takes
 * over its Unix socket. One that has not come back by then is called off, which ends its
 * connection. An engine answers for a container only when it is done with what it does to it: such
 * calls get a part of the connections alone, so that lists always have some.
 */
final class EngineCalls implements AutoCloseable {
    /** The numbers of connections that calls of one subject may take. */
    private static final int ABOUT_ONE_THING = 8;

    private static final int ABOUT_THE_SAME = 2;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Map<String, Integer> turns = new HashMap<>();
    private int taken;

    /** The threads that calls are made on. */
    ExecutorService threads() {
        return threads;
    }

    /** Makes a call; throws what it throws. */
    <T> T within(Duration limit, Supplier<T> call) throws TimeoutException {
        Future<T> answer = threads.submit(call::get);
        try {
            return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException cause
                    ? cause
                    : new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } finally {
            answer.cancel(true);
        }
    }

    /**
     * Waits until one more call that may hang can be made.
     *
     * @param what it is about
     * @return how much of the time is left
     * @throws TimeoutException when nothing is
     */
    synchronized Duration enter(String what, Duration limit) throws TimeoutException {
        long end = System.nanoTime() + limit.toNanos();
        while (taken >= ABOUT_ONE_THING || turns.getOrDefault(what, 0) >= ABOUT_THE_SAME) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                throw new TimeoutException();
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", e);
            }
        }
        taken++;
        turns.merge(what, 1, Integer::sum);
        return Duration.ofNanos(Math.max(end - System.nanoTime(), 0));
    }

    /** The call has come back, or was called off. */
    synchronized void leave(String what) {
        taken--;
        turns.computeIfPresent(what, (_, count) -> count == 1 ? null : count - 1);
        notifyAll();
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
