package jnvdocker.command.runtime;

import jnvdocker.words.RefusedException;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Why starts that have waited for GPUs got none: they go on to the engine at once, and their users
 * read this in the engine's own refusal.
 */
public final class RefusedWaits {
    private static final int MOST = 256;
    private static final long AGE = Duration.ofSeconds(30).toNanos();

    private final Map<String, Refused> latest = new HashMap<>();

    private record Refused(RefusedException why, long at) {
        boolean isOld() {
            return System.nanoTime() - at > AGE;
        }
    }

    /**
     * @param container the id of the container that was to start
     */
    synchronized void put(String container, RefusedException why) {
        latest.values().removeIf(Refused::isOld);
        if (latest.size() < MOST) {
            latest.put(container, new Refused(why, System.nanoTime()));
        }
    }

    /** Returns why a container that is being created now has waited in vain, and forgets it. */
    synchronized Optional<RefusedException> take(String container) {
        return Optional.ofNullable(latest.remove(container))
                .filter(refused -> !refused.isOld())
                .map(Refused::why);
    }
}
