package jnvdocker.grant;

import jnvdocker.holder.Pace;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Requested;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.registry.SeenEnd;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.Supply;
import jnvdocker.words.RefusedException;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A container that our runtime creates while its engine waits: the engine is not queried.
 *
 * @param earlier the end of another lease, in one step with the beginning of this one, so that
 *     nobody else can get in between: of its last start, or of a reservation that was made for it
 * @param had the UUIDs of those that it had, which it gets again where it may
 * @param scan of the host, begun since the request came
 * @param until when it has waited enough for ends of leases, in {@link Pace#nanos}
 */
public record Creation(
        Claim.ContainerRef container,
        Optional<SeenEnd> earlier,
        Set<String> had,
        Optional<FirstScan> scan,
        long until) {
    public Creation {
        had = Set.copyOf(had);
    }

    /** The same end, unless the lease has ended or changed since it was seen. */
    Optional<SeenEnd> earlier(Holdings holdings) {
        return earlier.filter(end ->
                holdings.ofClaim(end.lease().claim().id())
                        .filter(lease -> lease.isStill(end.lease()))
                        .isPresent());
    }

    /**
     * The holdings without the lease that is to end. One that is started again may be known to be
     * another user's by then; those that the same user has beside it are in nobody's way, unless a
     * share is requested by now, which nobody has of a GPU that is held as a whole.
     */
    Holdings others(Holdings all, Requested requested) {
        boolean whole =
                !(requested.request() instanceof GpuRequest.Count count
                        && count.filter().share().isPresent());
        return earlier(all)
                .map(SeenEnd::lease)
                .map(past ->
                        all.without(lease ->
                                lease.id() == past.id()
                                        || whole
                                                && past.claim().owner().isSameAs(requested.owner())
                                                && lease.claim().isBeside(past.claim())))
                .orElse(all);
    }

    /**
     * The GPUs of the lease that is to end, if they match the request. They were not given back, so
     * that those who wait, and the rules for a new lease, do not count.
     */
    Optional<Outcome.Chosen> again(
            Requested requested, Supply.Terms terms, Holdings all, UnmanagedUses unmanaged)
            throws RefusedException {
        Optional<SeenEnd> end = earlier(all);
        if (end.isEmpty()) {
            return Optional.empty();
        }
        Lease past = end.get().lease();
        List<String> its = past.claim().gpus().stream().map(ClaimedGpu::uuid).toList();
        GpuChoice choice =
                terms.ofRestart(past.claim()).choice(others(all, requested).ofRestart(), unmanaged);
        Outcome outcome =
                switch (requested.request()) {
                    case GpuRequest.Count count -> choice.of(among(its, count, requested));
                    // Whatever has become of the one whose GPUs these were first.
                    case GpuRequest.With _ ->
                            choice.of(
                                    requested.with(
                                            new GpuRequest.Devices(its), requested.candidates()));
                    case GpuRequest.All _, GpuRequest.None _, GpuRequest.Devices _ ->
                            choice.of(requested);
                };
        return outcome instanceof Outcome.Chosen chosen
                        && chosen.gpus().stream().allMatch(gpu -> its.contains(gpu.uuid()))
                ? Optional.of(chosen)
                : Optional.empty();
    }

    /** The outcome by a choice: of a number, those come first that it had. */
    Outcome outcome(Requested requested, GpuChoice choice) throws RefusedException {
        List<String> its =
                had.stream()
                        .filter(uuid ->
                                requested.candidates().isEmpty()
                                        || requested.candidates().contains(uuid))
                        .toList();
        return requested.request() instanceof GpuRequest.Count count
                        && !its.isEmpty()
                        && choice.of(among(its, count, requested)) instanceof Outcome.Chosen same
                ? same
                : choice.of(requested);
    }

    /** The request for those that it had, which met the request, whatever NVML reports. */
    private static Requested among(
            Collection<String> had, GpuRequest.Count count, Requested requested) {
        GpuFilter share = GpuFilter.sharing(count.filter().share());
        return requested.with(new GpuRequest.Count(count.gpus(), share), Set.copyOf(had));
    }
}
