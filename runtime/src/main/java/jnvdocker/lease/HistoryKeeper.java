package jnvdocker.lease;

import jnvdocker.posix.FileErrors;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;

/**
 * Keeps the history for as long as the lab wants it, and no longer: deletes what is older when the
 * daemon starts, and once a day. What is held is no history, however long it has been held.
 */
public final class HistoryKeeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HistoryKeeper.class);
    private static final Duration PERIOD = Duration.ofDays(1);

    /** A mount waits for no more than the deletion of so many, some milliseconds. */
    private static final int BATCH = 200;

    private static final Duration BETWEEN = Duration.ofMillis(20);
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final LeaseRegistry registry;
    private final Duration kept;
    private final Pace pace;
    private final Thread thread;

    private HistoryKeeper(LeaseRegistry registry, Duration kept, Pace pace) {
        this.registry = registry;
        this.kept = kept;
        this.pace = pace;
        this.thread = Thread.ofVirtual().name("history").unstarted(this::keep);
    }

    /**
     * From now on, in the background.
     *
     * @param kept for how long a lease is kept after its end
     */
    public static HistoryKeeper start(LeaseRegistry registry, Duration kept, Pace pace) {
        HistoryKeeper keeper = new HistoryKeeper(registry, kept, pace);
        keeper.thread.start();
        return keeper;
    }

    private void keep() {
        while (!Thread.currentThread().isInterrupted()) {
            try {
                int deleted = delete(registry, kept, pace);
                if (deleted > 0) {
                    LOG.info("deleted {} leases and claims of the history", deleted);
                }
            } catch (IOException e) {
                LOG.warn("the history is not cleared: {}", FileErrors.describe(e));
            } catch (RuntimeException e) {
                LOG.error("clearing the history failed", e);
            }
            pace.sleep(PERIOD);
        }
    }

    /** All that is too old by now; stops when the thread is interrupted. */
    static int delete(LeaseRegistry registry, Duration kept, Pace pace) throws IOException {
        Instant then = registry.now().minus(kept);
        int deleted = 0;
        int batch;
        do {
            batch = registry.deleteUntil(then, BATCH);
            deleted += batch;
            if (batch > 0) {
                pace.sleep(BETWEEN);
            }
        } while (batch > 0 && !Thread.currentThread().isInterrupted());
        return deleted;
    }

    /** Returns when nothing is being deleted any more, so that the registry may be closed. */
    @Override
    public void close() {
        thread.interrupt();
        try {
            thread.join(PATIENCE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
