package jnvdocker.protocol;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Ends what a client is waited for, when it takes too long. It can still be told so. */
public final class Deadlines implements AutoCloseable {
    private final ScheduledThreadPoolExecutor timer =
            new ScheduledThreadPoolExecutor(
                    1, Thread.ofPlatform().daemon().name("deadlines").factory());

    public Deadlines() {
        // Most are kept, and would be remembered until they had passed.
        timer.setRemoveOnCancelPolicy(true);
    }

    /** From when on nothing more is read. */
    Deadline in(Duration time, SocketChannel channel) {
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

    /** Who reads finds the end of what the client says. */
    private static void shut(SocketChannel channel) {
        try {
            channel.shutdownInput();
        } catch (IOException e) {
            // It is gone already.
        }
    }

    /** Kept when it is closed before it passes. */
    record Deadline(Future<?> future, AtomicBoolean passed) implements AutoCloseable {
        boolean hasPassed() {
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
