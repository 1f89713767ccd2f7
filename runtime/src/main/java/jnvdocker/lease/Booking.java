package jnvdocker.lease;

import jnvdocker.host.Gpu;

import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * GPUs that are one user's between two moments, by the clock. From its beginning on nobody else
 * gets a lease of them, and a lease that others get before ends then.
 *
 * @param id its number
 * @param gpus the UUIDs
 * @param parents the UUIDs of the GPUs that MIG instances among them are parts of
 */
public record Booking(
        long id, Owner owner, Set<String> gpus, Set<String> parents, Instant from, Instant until)
        implements Kept {
    public Booking {
        gpus = Set.copyOf(gpus);
        parents = Set.copyOf(parents);
    }

    /** Returns a booking of these GPUs. */
    public static Booking of(
            long id, Owner owner, List<ClaimedGpu> gpus, Instant from, Instant until) {
        return new Booking(
                id,
                owner,
                gpus.stream().map(ClaimedGpu::uuid).collect(Collectors.toSet()),
                gpus.stream().flatMap(gpu -> gpu.parent().stream()).collect(Collectors.toSet()),
                from,
                until);
    }

    /** Whether its time has begun and is not over. */
    public boolean isNow(Instant now) {
        return !now.isBefore(from) && now.isBefore(until);
    }

    /** Whether it is of a GPU, of the GPU that a MIG instance is a part of, or of a part of it. */
    public boolean isOf(Gpu gpu) {
        return isOf(ClaimedGpu.of(gpu));
    }

    /** Whether it is of a claimed GPU, likewise. */
    boolean isOf(ClaimedGpu gpu) {
        return gpus.contains(gpu.uuid())
                || parents.contains(gpu.uuid())
                || gpu.parent().filter(gpus::contains).isPresent();
    }

    /** Whether a part of its time is between two moments. */
    public boolean overlaps(Instant begin, Instant end) {
        return from.isBefore(end) && begin.isBefore(until);
    }
}
