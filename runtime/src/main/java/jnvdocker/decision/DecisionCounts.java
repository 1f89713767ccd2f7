package jnvdocker.decision;

import java.util.EnumMap;
import java.util.Map;

/** Counts decisions since the daemon started. */
public final class DecisionCounts {
    private long granted;
    private long recovered;
    private long released;
    private final Map<RefusalReason, Long> refused = new EnumMap<>(RefusalReason.class);

    /** The numbers at one moment. */
    public record Counts(
            long granted, long recovered, long released, Map<RefusalReason, Long> refused) {}

    /** Returns what they are now. */
    public synchronized Counts now() {
        return new Counts(granted, recovered, released, Map.copyOf(refused));
    }

    synchronized void granted() {
        granted++;
    }

    synchronized void recovered() {
        recovered++;
    }

    synchronized void released() {
        released++;
    }

    synchronized void refused(RefusalReason reason) {
        refused.merge(reason, 1L, Long::sum);
    }
}
