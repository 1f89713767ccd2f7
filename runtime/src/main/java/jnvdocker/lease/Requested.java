package jnvdocker.lease;

import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A request for GPUs, as far as a choice depends on it.
 *
 * @param candidates the UUIDs of the only GPUs that may be given; empty when any may
 * @param time how long they are wanted; empty for as long as the holder
 * @param scheduled whether a scheduler requests them, and not a user
 */
public record Requested(
        GpuRequest request,
        Owner owner,
        Set<String> candidates,
        Optional<Duration> time,
        boolean scheduled) {
    /** Nobody in particular, for a moment: no limit counts, and nothing is kept for this one. */
    static final Requested ANYBODY =
            new Requested(new GpuRequest.All(), Owner.TRIAL).lasting(Duration.ZERO);

    /** A scheduler's, which does not say how long, and knows what its users may have. */
    static final Requested SCHEDULED = new Requested(new GpuRequest.All(), Owner.TRIAL);

    public Requested {
        candidates = Set.copyOf(candidates);
    }

    /** A user's request. */
    public Requested(
            GpuRequest request, Owner owner, Set<String> candidates, Optional<Duration> time) {
        this(request, owner, candidates, time, false);
    }

    /** A user's request for as long as the holder. */
    public Requested(GpuRequest request, Owner owner) {
        this(request, owner, Set.of(), Optional.empty());
    }

    /** The request for the GPUs of a claim, or for its shares of them. */
    public static Requested of(Claim claim, Optional<Duration> time) {
        List<String> uuids = claim.gpus().stream().map(ClaimedGpu::uuid).toList();
        GpuRequest request =
                claim.share().isEmpty()
                        ? new GpuRequest.Devices(uuids)
                        : new GpuRequest.Count(uuids.size(), GpuFilter.sharing(claim.share()));
        return new Requested(request, claim.owner(), Set.copyOf(uuids), time);
    }

    /** The same request of a holder of this origin. */
    Requested by(Origin origin) {
        return new Requested(request, owner, candidates, time, origin.isScheduled());
    }

    private Requested lasting(Duration time) {
        return new Requested(request, owner, candidates, Optional.of(time), scheduled);
    }

    /** The same request for other GPUs. */
    public Requested with(GpuRequest other, Set<String> among) {
        return new Requested(other, owner, among, time, scheduled);
    }

    /** How much of each GPU is requested; empty for whole ones. */
    Optional<MemorySize> share() {
        return request instanceof GpuRequest.Count(_, GpuFilter filter)
                ? filter.share()
                : Optional.empty();
    }

    /** Whether it names the GPUs, and so may take them from uses without a lease. */
    boolean isByName() {
        return request instanceof GpuRequest.Devices || request instanceof GpuRequest.With;
    }
}
