package jnvdocker.registry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;

/**
 * Times of the registry, by a clock that cannot jump: the time since this boot, counted from when
 * the boot began by the wall clock. When that is set, all times of this boot are moved with it: so
 * ages do not change when the clock is set. Times of earlier boots stay as they were written.
 */
final class BootTime {
    private static final Logger LOG = LoggerFactory.getLogger(BootTime.class);

    /** The least difference that counts as a set clock; smaller ones are adjustments. */
    private static final Duration JUMP = Duration.ofSeconds(1);

    private static final int READS = 5;

    private final String boot;
    private final HostClock clock;
    private volatile long began;

    private BootTime(String boot, HostClock clock, long began) {
        this.boot = boot;
        this.clock = clock;
        this.began = began;
    }

    /** Returns the time of a boot, from the registry if it is known there. */
    static BootTime read(Transaction transaction, String boot, HostClock clock)
            throws SQLException {
        transaction.update("DELETE FROM boot_time WHERE boot <> ?", boot);
        long now = bootBegan(clock);
        long began =
                transaction
                        .first(
                                row -> row.getLong(1),
                                "SELECT began FROM boot_time WHERE boot = ?",
                                boot)
                        .orElse(now);
        transaction.update(
                "INSERT OR IGNORE INTO boot_time (boot, began) VALUES (?, ?)", boot, began);
        return new BootTime(boot, clock, began);
    }

    /**
     * Returns when the boot began by the wall clock. A thread may pause between two reads, or its
     * first read may take long; then both clocks are read again.
     */
    private static long bootBegan(HostClock clock) {
        long least = Long.MAX_VALUE;
        long began = 0;
        for (int i = 0; i < READS && least > 1; i++) {
            long before = clock.sinceBoot().toMillis();
            long wall = clock.millis();
            long pause = clock.sinceBoot().toMillis() - before;
            if (pause < least) {
                least = pause;
                began = wall - before;
            }
        }
        return began;
    }

    /** Milliseconds since this boot. */
    long up() {
        return clock.sinceBoot().toMillis();
    }

    Instant now() {
        return at(up());
    }

    /** Converts milliseconds since this boot to a time. */
    Instant at(long up) {
        return Instant.ofEpochMilli(began + up);
    }

    /** Whether the clock was set. */
    boolean hasJumped() {
        return Math.abs(bootBegan(clock) - began) > JUMP.toMillis();
    }

    /** Moves the times of this boot with the clock; returns when it began by that. */
    long follow(Transaction transaction) throws SQLException {
        long before = began;
        long now = bootBegan(clock);
        transaction.update(
                "UPDATE lease SET since = ? + since_up WHERE boot = ? AND since_up IS NOT NULL",
                now,
                boot);
        transaction.update(
                "UPDATE lease SET until = max(since, ? + until_up) WHERE until_boot = ?",
                now,
                boot);
        transaction.update(
                "UPDATE gpu SET idle_since = ? + idle_up WHERE idle_boot = ?", now, boot);
        transaction.update(
                "UPDATE ticket SET since = since + ? WHERE boot = ?", now - before, boot);
        transaction.update("UPDATE boot_time SET began = ? WHERE boot = ?", now, boot);
        return now;
    }

    /** Called when the change of the clock was written down. */
    void followed(long now) {
        LOG.info("the clock was set by {}", Duration.ofMillis(now - began));
        began = now;
    }
}
