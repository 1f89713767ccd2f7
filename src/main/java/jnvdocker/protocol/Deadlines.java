package jnvdocker.protocol;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Ends waits for a client that takes too long. The client can still be sent a message then. */
public final class Deadlines implements AutoCloseable {
    private final ScheduledThreadPoolExecutor timer =
            new ScheduledThreadPoolExecutor(
                    1, Thread.ofPlatform().daemon().name("deadlines").factory());

    public Deadlines() {
        // Most deadlines are met, and would otherwise be remembered until they pass.
        timer.setRemoveOnCancelPolicy(true);
    }

    /** Stops reading from a channel after a time. */
    public Deadline in(Duration time, SocketChannel channel) {
        AtomicBoolean passed = new AtomicBoolean();
        return new Deadline(
                timer.schedule(
                        () -> {
                            passed.set(true);
                            shut(channel);
                        },
                        time.toMillis(),
                        TimeUnit.MILLISECONDS),
                passed);
    }

    /** A reader then sees the end of the stream. */
    private static void shut(SocketChannel channel) {
        try {
            channel.shutdownInput();
        } catch (IOException e) {
            // It is gone already.
        }
    }

    /** A deadline is met if it is closed before it passes. */
    public record Deadline(Future<?> future, AtomicBoolean passed) implements AutoCloseable {
        public boolean hasPassed() {
            return passed.get();
        }

        @Override
        public void close() {
            future.cancel(false);
        }
    }

    @Override
    public void close() {
        timer.shutdownNow();
    }
}
