package jnvdocker.grant;

import jnvdocker.lease.Lease;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The moment after the end of a container that our OCI runtime was told to create. {@code docker
 * restart} has it created again within some 10 ms: until this moment is over, what it had is not
 * given to others.
 */
final class RestartGrace {
    private static final Duration MOMENT = Duration.ofMillis(250);

    private final Pace pace;
    private final Map<Long, Long> begun = new ConcurrentHashMap<>();

    RestartGrace(Pace pace) {
        this.pace = pace;
    }

    /**
     * Nothing lives of a lease's holder.
     *
     * @param then runs when the moment is over, the first time that this is said
     * @return whether it lasts
     */
    boolean begin(Lease lease, Runnable then) {
        long now = pace.nanos();
        Long since = begun.putIfAbsent(lease.id(), now);
        if (since == null) {
            pace.later(MOMENT, then);
            return true;
        }
        return now - since < MOMENT.toNanos();
    }

    /** Whether it has begun, and lasts. */
    boolean lasts(Lease lease) {
        Long since = begun.get(lease.id());
        return since != null && pace.nanos() - since < MOMENT.toNanos();
    }

    /** The lease has ended. */
    void forget(Lease lease) {
        begun.remove(lease.id());
    }
}
