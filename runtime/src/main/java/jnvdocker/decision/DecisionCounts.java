package jnvdocker.decision;

import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;

import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;

/** Counts decisions since the daemon started, and for how long users had GPUs since. */
public final class DecisionCounts {
    /** The time of more users than that is counted together. */
    private static final int MOST_USERS = 1000;

    private static final String OTHERS = "(others)";

    private final Instant start = Instant.now();
    private long granted;
    private long recovered;
    private long released;
    private final Map<RefusalReason, Long> refused = new EnumMap<>(RefusalReason.class);
    private final Map<String, Duration> times = new HashMap<>();

    /**
     * @param times of leases that have ended, by user: an hour for each hour of each GPU
     */
    public record Counts(
            long granted,
            long recovered,
            long released,
            Map<RefusalReason, Long> refused,
            Map<String, Duration> times) {}

    /** Returns what they are now. */
    public synchronized Counts now() {
        return new Counts(granted, recovered, released, Map.copyOf(refused), Map.copyOf(times));
    }

    /** Returns the GPU time of a lease since the daemon started; shares count as their parts. */
    public Duration time(Lease lease, Instant until) {
        Instant from = lease.since().isAfter(start) ? lease.since() : start;
        Duration time = Duration.between(from, until);
        double gpus = lease.claim().gpus().stream().mapToDouble(ClaimedGpu::count).sum();
        return time.isNegative()
                ? Duration.ZERO
                : Duration.ofNanos(Math.round(time.toNanos() * gpus));
    }

    /** Returns the name that a user's time is counted under. */
    public static String user(Owner owner) {
        return owner.isUnknown() ? Owner.UNKNOWN.name() : owner.name();
    }

    synchronized void granted() {
        granted++;
    }

    synchronized void recovered() {
        recovered++;
    }

    synchronized void released(Lease lease, Instant at) {
        released++;
        String user = user(lease.claim().owner());
        boolean known = times.size() < MOST_USERS || times.containsKey(user);
        times.merge(known ? user : OTHERS, time(lease, at), Duration::plus);
    }

    synchronized void refused(RefusalReason reason) {
        refused.merge(reason, 1L, Long::sum);
    }
}
