package jnvdocker.lease;

import jnvdocker.host.Gpu;

import java.time.Instant;
import java.util.Set;

/**
 * GPUs that are one user's between two moments, by the clock. From its beginning on nobody else
 * gets a lease of them, and a lease that others get before ends then.
 *
 * @param id its number
 * @param gpus the UUIDs
 */
public record Booking(long id, Owner owner, Set<String> gpus, Instant from, Instant until)
        implements Kept {
    public Booking {
        gpus = Set.copyOf(gpus);
    }

    /** Whether its time has begun and is not over. */
    public boolean isNow(Instant now) {
        return !now.isBefore(from) && now.isBefore(until);
    }

    /** Whether it is of a GPU, or of the GPU that a MIG instance is a part of. */
    public boolean isOf(Gpu gpu) {
        return gpus.contains(gpu.uuid()) || gpus.contains(gpu.wholeUuid());
    }

    /** Whether it is of a claimed GPU, or of the GPU that a MIG instance is a part of. */
    boolean isOf(ClaimedGpu gpu) {
        return gpus.contains(gpu.uuid()) || gpu.parent().filter(gpus::contains).isPresent();
    }

    /** Whether a part of its time is between two moments. */
    public boolean overlaps(Instant begin, Instant end) {
        return from.isBefore(end) && begin.isBefore(until);
    }
}
