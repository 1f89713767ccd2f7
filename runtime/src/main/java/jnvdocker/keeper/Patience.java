package jnvdocker.keeper;

import jnvdocker.holder.Pace;
import jnvdocker.lease.Lease;
import jnvdocker.registry.Changes;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;

/**
 * Decides whether a request that is blocked is worth another attempt, and when. It waits for the
 * ends of the leases that it met first; later ones count a few times only, so that a busy host
 * cannot keep it for ever.
 */
public final class Patience {
    /** Between two attempts while a lease is about to end, or to begin again. */
    private static final Duration A_MOMENT = Duration.ofMillis(50);

    /** Between two checks of holders that are waited for. */
    private static final Duration STEP = Duration.ofMillis(100);

    /** Between two scans of all processes of the host, of which the end of one is not reported. */
    private static final Duration BETWEEN_SCANS = Duration.ofSeconds(1);

    /** How often GPUs may be taken by another and given back before the request is refused. */
    private static final int TRIES = 3;

    private final Keeper keeper;
    private final Changes changes;
    private final Pace pace;
    private final Duration ends;
    private final Optional<Long> until;
    private final Predicate<List<Lease>> waits;
    private OptionalLong newest = OptionalLong.empty();
    private int later;

    public Patience(
            Keeper keeper,
            Changes changes,
            Pace pace,
            Duration ends,
            Optional<Long> until,
            Predicate<List<Lease>> waits) {
        this.keeper = keeper;
        this.changes = changes;
        this.pace = pace;
        this.ends = ends;
        this.until = until;
        this.waits = waits;
    }

    /**
     * Waits until another attempt is worth it.
     *
     * @param by the leases that are in the way
     * @param seen the number of changes before the last attempt
     * @return false when it is not worth it
     * @throws IOException when an end cannot be written, or the daemon stops
     */
    public boolean isWorthAnother(List<Lease> by, long seen) throws IOException {
        Duration left = left();
        if (left.isNegative()) {
            return false;
        }
        if (newest.isEmpty()) {
            newest = by.stream().mapToLong(Lease::id).max();
        }
        long last = newest.orElse(0);
        List<Lease> first = by.stream().filter(lease -> lease.id() <= last).toList();
        if (keeper.end(first, shorter(ends, left))) {
            return true;
        }
        List<Lease> others = by.stream().filter(lease -> lease.id() > last).toList();
        if (later < TRIES && keeper.end(others, Keeper.Caller.WAITER)) {
            later++;
            return true;
        }
        if (!left.isPositive()) {
            return false;
        }
        if (keeper.isSettling(first)) {
            pace.sleep(A_MOMENT);
            return true;
        }
        if (!waits.test(by)) {
            return false;
        }
        if (by.isEmpty()) {
            pace.sleep(shorter(BETWEEN_SCANS, left));
        } else {
            pace.sleep(shorter(STEP, left), changes, seen);
        }
        if (Thread.currentThread().isInterrupted()) {
            throw new IOException("the daemon is stopping");
        }
        return true;
    }

    private Duration left() {
        return until.isPresent() ? Duration.ofNanos(until.get() - pace.nanos()) : ends;
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
