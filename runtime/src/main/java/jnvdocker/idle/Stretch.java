package jnvdocker.idle;

import java.time.Duration;
import java.util.Optional;

/**
 * A time in which all samples of a GPU showed it in use, or all showed it idle. Times are
 * milliseconds since the boot.
 *
 * @param atLeast whether it may have begun earlier: no sample was taken shortly before
 * @param last when the last sample was taken
 */
record Stretch(boolean idle, long since, boolean atLeast, long last) {
    /**
     * Between two samples that are further apart anything may have happened. A daemon that is
     * restarted takes its first sample before that.
     */
    static final Duration GAP = Duration.ofMinutes(2);

    /** Returns the stretch after another sample. */
    static Stretch after(Optional<Stretch> before, boolean idle, long now) {
        Optional<Stretch> known = before.filter(it -> it.isKnown(now));
        return known.filter(it -> it.idle == idle)
                .map(it -> new Stretch(idle, it.since, it.atLeast, now))
                .orElseGet(() -> new Stretch(idle, now, known.isEmpty(), now));
    }

    /** Whether the last sample is so recent that it still holds. */
    boolean isKnown(long now) {
        return now - last <= GAP.toMillis();
    }

    /** Returns for how long it was so, until the last sample. */
    Duration time() {
        return Duration.ofMillis(last - since);
    }
}
