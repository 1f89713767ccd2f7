package jnvdocker.idle;

import jnvdocker.lease.Lease;
import jnvdocker.lease.Rule;
import jnvdocker.words.Span;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Stops holders when all their GPUs have been idle for as long as their users' limits allow, after
 * a warning.
 */
final class IdleStops {
    /** How long before a holder is stopped that is announced, if its limit is not shorter still. */
    private static final Duration NOTICE = Duration.ofMinutes(5);

    private final IdleKeeper.Stops stops;
    private final IdleWarning warning;

    /** When the stop of a holder was announced, in milliseconds since boot, by its lease. */
    private final Map<Long, Long> announced = new HashMap<>();

    IdleStops(IdleKeeper.Stops stops, IdleWarning warning) {
        this.stops = stops;
        this.warning = warning;
    }

    /**
     * @param idle the GPUs of each lease that are idle
     * @param now in milliseconds since boot
     */
    void apply(Map<Lease, List<IdleHolder>> idle, Instant time, long now) {
        Set<Long> near = new HashSet<>();
        idle.forEach((lease, gpus) -> {
            if (gpus.size() == lease.claim().gpus().size()) {
                gpus.getFirst()
                        .longest()
                        .filter(rule -> stop(lease, gpus, rule, time, now))
                        .ifPresent(_ -> near.add(lease.id()));
            }
        });
        announced.keySet().retainAll(near);
    }

    /** Returns whether the end is near, or there. */
    private boolean stop(
            Lease lease, List<IdleHolder> gpus, Rule<Duration> rule, Instant time, long now) {
        Duration longest = rule.limit();
        Duration least =
                gpus.stream().map(it -> it.time(time)).min(Duration::compareTo).orElseThrow();
        Duration half = longest.dividedBy(2);
        Duration notice = NOTICE.compareTo(half) < 0 ? NOTICE : half;
        if (least.compareTo(longest.minus(notice)) < 0) {
            return false;
        }
        Long since = announced.putIfAbsent(lease.id(), now);
        if (since == null) {
            Duration end = least.plus(notice);
            warning.log(
                    gpus,
                    time,
                    "; it is stopped after "
                            + Span.text(end.compareTo(longest) > 0 ? end : longest));
        } else if (least.compareTo(longest) >= 0 && now - since >= notice.toMillis()) {
            String its = gpus.size() == 1 ? "its GPU has" : "its GPUs have";
            stops.stop(lease, its + " been idle for " + Span.text(least) + " (" + rule.key() + ")");
        }
        return true;
    }
}
