package jnvdocker.idle;

import java.time.Duration;
import java.util.List;

/** Lists the holders that do not use their GPUs, from memory. */
@FunctionalInterface
public interface IdleHolders {
    /**
     * A GPU that is idle for less is between two pieces of work: it is not shown, and its time does
     * not count as idle.
     */
    Duration LEAST = Duration.ofMinutes(5);

    /**
     * Returns the held GPUs that have been idle for at least so long, the longest first. A GPU that
     * is reserved, or held by a container that is just starting, is not idle.
     */
    List<IdleHolder> idle(Duration least);

    /** Returns those that count as idle: for {@link #LEAST}. */
    default List<IdleHolder> idle() {
        return idle(LEAST);
    }
}
