package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuResolver;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The rules of the configuration. A refusal because of one names its key.
 *
 * @param limits of users
 * @param maxWaitsPerUser how many times a user other than root may wait for GPUs at a time
 * @param cordon ids of GPUs that get no new lease, as {@code --gpus} spells them
 * @param shareable ids of GPUs of which several holders may have shares, spelled likewise
 * @param allowUnmanaged whether a GPU that is used without a lease may be taken by its name
 * @param holdAfterStop for how long a stopped container's GPUs are kept for its owner
 * @param bookings whether users may book GPUs, and what that means for others
 */
public record LeasePolicy(
        Limits limits,
        int maxWaitsPerUser,
        List<String> cordon,
        List<String> shareable,
        boolean allowUnmanaged,
        Optional<Duration> holdAfterStop,
        BookingRule bookings) {
    /** The default for interactive users; an administrator may set another for programs. */
    public static final int WAITS_PER_USER = 64;

    public LeasePolicy {
        cordon = List.copyOf(cordon);
        shareable = List.copyOf(shareable);
    }

    /** The rules for a holder that goes on with the GPUs that it has. */
    public LeasePolicy ofRestart() {
        return new LeasePolicy(
                Limits.NONE,
                maxWaitsPerUser,
                List.of(),
                shareable,
                allowUnmanaged,
                Optional.empty(),
                bookings);
    }

    /**
     * Whether the file cordons a GPU: a beginning that several UUIDs have cordons each of them, and
     * a GPU in MIG mode is cordoned with all of its instances.
     */
    public boolean cordons(Gpu gpu) {
        return cordon.stream().anyMatch(id -> GpuResolver.covers(id, gpu));
    }

    /** Whether the file lets several holders have shares of a GPU; never of a MIG instance. */
    public boolean shares(Gpu gpu) {
        return gpu.part().isEmpty()
                && shareable.stream().anyMatch(id -> GpuResolver.covers(id, gpu));
    }

    /** Ids that the file cordons, and that none of these GPUs has. */
    public List<String> cordonsNothing(List<Gpu> gpus) {
        return GpuResolver.coveringNone(cordon, gpus);
    }

    /** Ids that the file lets be shared, and that none of these GPUs has. */
    public List<String> sharesNothing(List<Gpu> gpus) {
        return GpuResolver.coveringNone(shareable, gpus);
    }
}
