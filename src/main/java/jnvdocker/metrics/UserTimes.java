package jnvdocker.metrics;

import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Owner;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;

/**
 * For how long users have had GPUs since the daemon started, as {@code gpu history} counts it: the
 * sum of the times between each two reads. It never decreases, whatever of the history is deleted
 * meanwhile: Prometheus would take a decrease for a restart.
 */
final class UserTimes {
    /** The time of more users than that is counted together. */
    private static final int MOST_USERS = 1000;

    private static final String OTHERS = "(others)";

    private final Map<String, Duration> times = new TreeMap<>();
    private Instant read;

    /**
     * @param start when counting begins
     */
    UserTimes(Instant start) {
        read = start;
    }

    /** Returns the moment up to which time has been added. */
    Instant read() {
        return read;
    }

    /**
     * Adds the time since the last read.
     *
     * @return the times by user
     */
    Map<String, Duration> add(GpuTime more) {
        for (GpuTime.Use use : more.users()) {
            String user = name(use.owner());
            boolean known = times.size() < MOST_USERS || times.containsKey(user);
            times.merge(known ? user : OTHERS, use.time(), Duration::plus);
        }
        read = more.until();
        return Map.copyOf(times);
    }

    /** Returns the name that a user's time is counted under. */
    static String name(Owner owner) {
        return owner.isUnknown() ? Owner.UNKNOWN.name() : owner.name();
    }
}
