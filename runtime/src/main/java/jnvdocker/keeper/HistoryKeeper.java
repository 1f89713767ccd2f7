package jnvdocker.keeper;

import jnvdocker.holder.Pace;
import jnvdocker.holder.Periodic;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Keeps the history for the configured time, and bounded: older leases, and those for which there
 * is no room, are deleted. Reservations that never became anything are added up. Live leases are no
 * history, however long they have been held.
 */
public final class HistoryKeeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HistoryKeeper.class);

    /** How often. A loop of reservations makes eight a second. */
    private static final Duration PERIOD = Duration.ofMinutes(10);

    /** The time in which an unused reservation is shown on its own. */
    private static final Duration SEEN = Duration.ofHours(1);

    /** How many leases are kept, whatever the configuration says: some years of a busy host. */
    static final int MOST = 250_000;

    /** The number of leases deleted at once, so that a mount waits some milliseconds at most. */
    private static final int BATCH = 200;

    private static final Duration BETWEEN = Duration.ofMillis(20);

    private final LeaseRegistry registry;
    private final Supplier<Optional<Duration>> kept;
    private final Pace pace;
    private final Periodic thread;

    private HistoryKeeper(LeaseRegistry registry, Supplier<Optional<Duration>> kept, Pace pace) {
        this.registry = registry;
        this.kept = kept;
        this.pace = pace;
        this.thread =
                new Periodic("history", PERIOD, this::clear)
                        .in(pace)
                        .failing("the history is not cleared");
    }

    /**
     * From now on, in the background.
     *
     * @param kept for how long a lease is kept after its end; empty when for ever
     */
    public static HistoryKeeper start(
            LeaseRegistry registry, Supplier<Optional<Duration>> kept, Pace pace) {
        HistoryKeeper keeper = new HistoryKeeper(registry, kept, pace);
        keeper.thread.startVirtual();
        return keeper;
    }

    private void clear() throws IOException {
        int folded = inParts(() -> registry.history().fold(SEEN, BATCH), pace);
        if (folded > 0) {
            LOG.info("added up {} reservations that came to nothing", folded);
        }
        Optional<Duration> limit = kept.get();
        int deleted = limit.isPresent() ? delete(registry, limit.get(), pace) : 0;
        deleted += inParts(() -> registry.history().deleteBeyond(MOST, BATCH), pace);
        if (deleted > 0) {
            LOG.info("deleted {} leases and claims of the history", deleted);
        }
    }

    /** All that is too old by now; stops when the thread is interrupted. */
    public static int delete(LeaseRegistry registry, Duration kept, Pace pace) throws IOException {
        Instant then = registry.history().plausibleNow().minus(kept);
        return inParts(() -> registry.history().deleteUntil(then, BATCH), pace);
    }

    /** Returns the number of handled rows. */
    public interface Part {
        int done() throws IOException;
    }

    /** Goes on until there is nothing left to do, or the thread is interrupted. */
    public static int inParts(Part part, Pace pace) throws IOException {
        int done = 0;
        int batch;
        do {
            batch = part.done();
            done += batch;
            if (batch > 0) {
                pace.sleep(BETWEEN);
            }
        } while (batch > 0 && !Thread.currentThread().isInterrupted());
        return done;
    }

    /** Returns when nothing is being deleted any more, so that the registry may be closed. */
    @Override
    public void close() {
        thread.close();
    }
}
