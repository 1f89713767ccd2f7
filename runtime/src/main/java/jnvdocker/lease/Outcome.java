package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuRequest;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What has become of a request: the GPUs that were chosen for it, or the verdicts against it. */
public sealed interface Outcome {
    /**
     * The GPUs of a request.
     *
     * @param gpus in order of index
     * @param beside the lease under which they are held already, if the request was for those
     * @param shares those of the request, by UUID; none of whole GPUs
     */
    record Chosen(List<Gpu> gpus, Optional<Lease> beside, Map<String, Share> shares)
            implements Outcome {
        /** Free GPUs. */
        public Chosen(List<Gpu> gpus) {
            this(gpus, Optional.empty(), Map.of());
        }

        /** The GPUs of the claim that is to be made. */
        public List<ClaimedGpu> claimed() {
            return gpus.stream()
                    .map(gpu -> ClaimedGpu.of(gpu, Optional.ofNullable(shares.get(gpu.uuid()))))
                    .toList();
        }
    }

    /** The request is not met. */
    sealed interface Unmet extends Outcome {
        /** The leases that are in its way; a use without a lease has none here. */
        default List<Lease> leases() {
            return List.of();
        }
    }

    /** Others have GPUs that are needed, or the user has: that may change. */
    sealed interface Busy extends Unmet {}

    /**
     * Needed GPUs are in use.
     *
     * @param busy on the GPUs that are not free of those that are requested, or could be chosen
     * @param free the GPUs that others could have; of shares, those of which enough is left
     */
    record Taken(GpuRequest request, List<Verdict> busy, List<Gpu> free) implements Busy {
        @Override
        public List<Lease> leases() {
            return busy.stream().flatMap(gpu -> gpu.leases().stream()).distinct().toList();
        }
    }

    /** The user's limits do not allow the request now. */
    record OverQuota(GpuRequest.Count requested, Quota.ForNow excess) implements Busy {
        @Override
        public List<Lease> leases() {
            return excess instanceof Quota.TooMany many ? many.leases() : List.of();
        }
    }

    /** The request cannot be met, whatever holders end. */
    sealed interface Impossible extends Unmet {}

    /** The user's limits never allow so many GPUs, or these. */
    record NeverAllowed(GpuRequest.Count requested, Quota.ForGood excess) implements Impossible {}

    /** The user's limits never allow these GPUs, which a scheduler has chosen. */
    record NeverTheirs(List<ClaimedGpu> chosen, Quota.ForGood excess) implements Impossible {}

    /**
     * The user holds nothing, or not one thing, of that name whose GPUs could be given again.
     *
     * @param user who requests them
     * @param holders the leases of that name; empty when there are none
     * @param several whether more than one is the user's own
     */
    record NotBeside(String name, Owner user, List<Lease> holders, boolean several)
            implements Impossible {}

    /**
     * No GPU that may be shared has so much memory, or there are too few of them.
     *
     * @param limits how many bytes of these GPUs may be shared
     */
    record NotShared(GpuRequest.Count requested, Map<Gpu, Long> limits) implements Impossible {}

    /** The outcome of a request for so many GPUs that the limits of its user do not allow. */
    static Unmet beyond(GpuRequest.Count requested, Quota.Excess excess) {
        return switch (excess) {
            case Quota.ForNow now -> new OverQuota(requested, now);
            case Quota.ForGood ever -> new NeverAllowed(requested, ever);
        };
    }

    /** The host has none. */
    record NoGpu() implements Impossible {}

    /**
     * A GPU that is needed is sick, cordoned, or without a name.
     *
     * @param free the GPUs that others could have
     */
    record Barred(Verdict gpu, List<Gpu> free) implements Impossible {}

    /**
     * The host has too few GPUs.
     *
     * @param suited on all of those that are requested, in service or not
     */
    record TooFew(GpuRequest.Count requested, List<Verdict> suited) implements Impossible {}

    /**
     * It is not known whether the host has enough GPUs.
     *
     * @param unclear the GPUs of which NVML does not report the memory
     */
    record Unclear(GpuRequest.Count requested, List<Gpu> unclear) implements Impossible {}
}
