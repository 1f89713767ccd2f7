package jnvdocker.idle;

import java.time.Duration;
import java.util.Optional;

/**
 * A time in which a GPU was in use all the while, or idle all the while, as often as it was looked
 * at. Times are milliseconds since the boot.
 *
 * @param atLeast whether it may have begun earlier: nobody looked before
 * @param last when it was looked at last
 */
record Stretch(boolean idle, long since, boolean atLeast, long last) {
    /**
     * Between two looks that are further apart anything may have happened. A daemon that is
     * restarted looks again before that.
     */
    static final Duration GAP = Duration.ofMinutes(2);

    /** Returns the stretch after another look. */
    static Stretch after(Optional<Stretch> before, boolean idle, long now) {
        Optional<Stretch> known = before.filter(it -> it.isKnown(now));
        return known.filter(it -> it.idle == idle)
                .map(it -> new Stretch(idle, it.since, it.atLeast, now))
                .orElseGet(() -> new Stretch(idle, now, known.isEmpty(), now));
    }

    /** Whether it was looked at a short time ago, so that it still is so. */
    boolean isKnown(long now) {
        return now - last <= GAP.toMillis();
    }

    /** Returns for how long it was so, when it was looked at last. */
    Duration time() {
        return Duration.ofMillis(last - since);
    }
}
