package jnvdocker.metrics;

import jnvdocker.decision.DecisionCounts;
import jnvdocker.lease.Lease;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * For how long users have had GPUs since the daemon started. A user's published time never
 * decreases, even if a lease ends between the reads of ended and of live leases, or if the clock is
 * set: Prometheus would take a decrease for a restart.
 */
final class UserTimes {
    private final Map<String, Duration> reported = new HashMap<>();

    /** The users with ended or live leases, as of the last call. */
    private Set<String> found = Set.of();

    /**
     * Returns the times by user.
     *
     * @param ended of leases that had ended
     * @param live those that lived then, or later
     */
    Map<String, Duration> of(DecisionCounts counts, Map<String, Duration> ended, List<Lease> live) {
        Map<String, Duration> times = new TreeMap<>(ended);
        Instant now = Instant.now();
        for (Lease lease : live) {
            String user = DecisionCounts.user(lease.claim().owner());
            times.merge(user, counts.time(lease, now), Duration::plus);
        }
        Set<String> before = found;
        found = Set.copyOf(times.keySet());
        // One whose only lease has ended between the two reads is in neither, and in the next.
        before.forEach(user -> times.putIfAbsent(user, Duration.ZERO));
        times.replaceAll((user, time) -> reported.merge(user, time, UserTimes::more));
        reported.keySet().retainAll(times.keySet());
        return times;
    }

    private static Duration more(Duration one, Duration other) {
        return one.compareTo(other) > 0 ? one : other;
    }
}
