package jnvdocker.idle;

import jnvdocker.registry.IdleStore;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/** Idle time of leases' GPUs that is not written down yet, in milliseconds since the boot. */
final class IdleTime {
    private static final long HOUR = Duration.ofHours(1).toMillis();

    private final Map<IdleStore.Hour, Long> hours = new HashMap<>();

    /**
     * @param begin when the lease began
     */
    void add(IdleKeeper.Key gpu, long begin, long from, long until) {
        long at = Math.max(from, begin);
        while (at < until) {
            long hour = (at - begin) / HOUR;
            long end = Math.min(until, begin + (hour + 1) * HOUR);
            hours.merge(new IdleStore.Hour(gpu.lease(), gpu.gpu(), hour), end - at, Long::sum);
            at = end;
        }
    }

    Map<IdleStore.Hour, Long> hours() {
        return Map.copyOf(hours);
    }

    void clear() {
        hours.clear();
    }
}
