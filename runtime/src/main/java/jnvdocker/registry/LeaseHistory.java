package jnvdocker.registry;

import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Tenure;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Leases that have ended, on disk. No writer waits while they are read. */
public final class LeaseHistory {
    private static final Logger LOG = LoggerFactory.getLogger(LeaseHistory.class);

    /** The longest time off after which the host's clock is trusted. */
    private static final Duration OFF = Duration.ofDays(31);

    private final RegistryDatabase database;
    private final String boot;
    private final BootTime time;

    LeaseHistory(RegistryDatabase database, String boot, BootTime time) {
        this.database = database;
        this.boot = boot;
        this.time = time;
    }

    /** Reads what may be long; no writer waits for that. */
    private <T> T reading(RegistryDatabase.Work<T> work) throws IOException {
        if (time.hasJumped()) {
            followTheClock();
        }
        return database.reading(work);
    }

    /** Has the times of this boot follow a clock that was set. */
    void followTheClock() {
        try {
            database.transaction(_ -> null); // does that before anything else
        } catch (RegistryException e) {
            LOG.warn("times stay those of the clock before it was set: {}", e.getMessage());
        }
    }

    /** The past leases with smaller numbers, the latest first; read without blocking a writer. */
    public List<Lease> past(long before, int limit) throws IOException {
        return reading(transaction -> LeaseRows.past(transaction, before, limit));
    }

    /**
     * The last lease that has ended of a container, by the engine or runtime that has it: the next
     * start is for the GPUs that it had.
     */
    public Optional<Lease> lastOf(Origin origin, String container) throws IOException {
        // A few rows by their index: a connection of its own would take longer.
        return database.transaction(
                transaction -> LeaseRows.lastOf(transaction, StoredOrigin.of(origin), container));
    }

    /** Returns how long the containers of leases have had GPUs, by the leases' numbers. */
    public Map<Long, Tenure> tenures(List<Lease> leases) throws IOException {
        return database.transaction(transaction -> {
            Map<Long, Tenure> tenures = new HashMap<>();
            for (Lease lease : leases) {
                tenures.put(lease.id(), LeaseRows.tenure(transaction, lease));
            }
            return tenures;
        });
    }

    /** Leases of one GPU that have ended, the latest first. */
    public List<Lease> pastOf(String gpu, int limit) throws IOException {
        return pastOf(gpu, Instant.EPOCH, Optional.empty(), Long.MAX_VALUE, limit);
    }

    /**
     * Leases of one GPU that have ended since then, the latest first, with a smaller number.
     *
     * @param owners the only ones that count, whatever their names were; empty when all do
     */
    public List<Lease> pastOf(
            String gpu, Instant from, Optional<Set<Owner>> owners, long before, int limit)
            throws IOException {
        return reading(
                transaction -> LeaseRows.pastOf(transaction, gpu, from, owners, before, limit));
    }

    /**
     * For how long users have had GPUs since then, and GPUs were kept for them after the stop of a
     * container.
     *
     * @param afterStop for how long they are kept at most; empty keeps none
     */
    public GpuTime gpuTimeWithKept(Instant from, Optional<Duration> afterStop) throws IOException {
        return reading(transaction -> {
            Instant begin = from.truncatedTo(ChronoUnit.MILLIS);
            Instant now = time.now().truncatedTo(ChronoUnit.MILLIS);
            return new GpuTime(
                    begin, now, HistoryRows.useWithKept(transaction, begin, now, afterStop));
        });
    }

    /**
     * Adds up the GPU time likewise.
     *
     * @param end of the window; empty for now
     */
    public GpuTime gpuTime(Instant from, Optional<Instant> end, Optional<String> gpu)
            throws IOException {
        return reading(transaction -> {
            // Finer than the stored precision, equal times would differ.
            Instant begin = from.truncatedTo(ChronoUnit.MILLIS);
            Instant now = time.now().truncatedTo(ChronoUnit.MILLIS);
            Instant until =
                    end.map(it -> it.truncatedTo(ChronoUnit.MILLIS))
                            .filter(now::isAfter)
                            .orElse(now);
            return new GpuTime(
                    begin, until, HistoryRows.use(transaction, begin, until, end.isPresent(), gpu));
        });
    }

    /** The UUIDs of GPUs that were given back once. */
    public List<String> pastGpus() throws IOException {
        return reading(HistoryRows::gpus);
    }

    /**
     * Deletes some leases that had ended by then, and claims without any that were forgotten by
     * then; says how many, 0 when none is left.
     */
    public int deleteUntil(Instant then, int limit) throws IOException {
        return database.transaction(
                transaction -> HistoryRows.deleteUntil(transaction, then, limit));
    }

    /**
     * The time that old rows are deleted by: a clock that says 2099 is not believed. What has ended
     * in an earlier boot is in the past, and as much time has passed since as this boot has taken;
     * a host may also have been off for a month. Times of this boot move with the clock.
     */
    public Instant plausibleNow() throws IOException {
        return database.transaction(transaction -> {
            Instant now = time.now();
            return HistoryRows.latestNotOf(transaction, boot)
                    .map(end -> end.plusMillis(time.up()))
                    .filter(least -> now.isAfter(least.plus(OFF)))
                    .orElse(now);
        });
    }

    /**
     * Adds up some reservations that came to nothing that long ago, and were not released by force;
     * says how many, 0 when none is left.
     */
    public int fold(Duration ago, int limit) throws IOException {
        return database.transaction(
                transaction -> HistoryRows.fold(transaction, time.now().minus(ago), limit));
    }

    /** Deletes some of the oldest leases that are more than that; says how many. */
    public int deleteBeyond(int most, int limit) throws IOException {
        return database.transaction(
                transaction -> HistoryRows.deleteBeyond(transaction, most, limit));
    }
}
