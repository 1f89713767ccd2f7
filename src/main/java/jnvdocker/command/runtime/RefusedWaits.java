package jnvdocker.command.runtime;

import jnvdocker.words.RefusedException;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Why starts that have waited for GPUs got none: they go on to the engine, and its user reads this
 * in the engine's own refusal. One that goes on does so at once.
 */
public final class RefusedWaits {
    private static final int MOST = 256;
    private static final long AGE = Duration.ofSeconds(30).toNanos();

    private final Map<String, Refused> latest =
            new LinkedHashMap<>() {
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(Map.Entry<String, Refused> eldest) {
                    return size() > MOST;
                }
            };

    private record Refused(RefusedException why, long at) {}

    /**
     * @param container the id of the container that was to start
     */
    synchronized void put(String container, RefusedException why) {
        latest.remove(container);
        latest.put(container, new Refused(why, System.nanoTime()));
    }

    /** Returns why a container that is being created now has waited in vain, and forgets it. */
    synchronized Optional<RefusedException> take(String container) {
        return Optional.ofNullable(latest.remove(container))
                .filter(refused -> System.nanoTime() - refused.at() < AGE)
                .map(Refused::why);
    }
}
