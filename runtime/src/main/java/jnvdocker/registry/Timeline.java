package jnvdocker.registry;

import jnvdocker.lease.LeaseBar;
import jnvdocker.lease.Trouble;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The use of each GPU over time, on disk. No writer waits while it is read. */
public final class Timeline {
    private final RegistryDatabase database;
    private final BootTime time;

    Timeline(RegistryDatabase database, BootTime time) {
        this.database = database;
        this.time = time;
    }

    /** The present, by the clock that leases are dated with. */
    public Instant now() {
        return time.now();
    }

    /**
     * Returns the leases that live or have ended since then, the latest first, with a bar for each
     * of their GPUs. Reservations that came to nothing are left out.
     *
     * @param most how many bars
     */
    public List<LeaseBar> bars(Instant from, int most) throws IOException {
        return database.reading(transaction -> {
            Map<TimelineRows.Key, List<TimelineRows.IdleHour>> idle =
                    TimelineRows.idle(transaction, from).stream()
                            .collect(Collectors.groupingBy(TimelineRows.IdleHour::key));
            return TimelineRows.bars(transaction, from, most).stream()
                    .map(row -> row.with(idle.getOrDefault(row.key(), List.of()), time.now()))
                    .toList();
        });
    }

    /** Returns the troubles that were seen since then, the earliest first. */
    public List<Trouble> troubles(Instant from, int most) throws IOException {
        return database.reading(transaction -> TimelineRows.troubles(transaction, from, most));
    }

    /**
     * Writes what is seen now: a trouble that was seen within the gap goes on.
     *
     * @param kept for how long those that are over are kept; empty keeps all
     */
    public void write(List<Trouble> seen, Duration gap, Optional<Duration> kept)
            throws IOException {
        database.transaction(transaction -> {
            for (Trouble each : seen) {
                TimelineRows.write(transaction, each, gap);
            }
            TimelineRows.deleteOld(transaction, kept.map(time.now()::minus));
            return null;
        });
    }
}
