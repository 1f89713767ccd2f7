package jnvdocker.lease;

import jnvdocker.request.GpuRequest;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

/**
 * What each user may have, and has. The pods of a namespace of Kubernetes are one user's, with a
 * limit of their own.
 */
public final class Quota {
    /** Sums of parts are not exact; no part is as small as that. */
    private static final double ROUNDING = 1e-9;

    /**
     * How many shares a user may have for each GPU of the user's limit: their memory alone would
     * allow hundreds.
     */
    static final int SHARES_OF_A_GPU = 16;

    private final Allowances allowances;
    private final Map<String, List<Lease>> held;

    /**
     * @param held the live leases, by the UUIDs of their GPUs; those of one GPU are of one party,
     *     or have shares of it
     */
    public Quota(Allowances allowances, Map<String, List<Lease>> held) {
        this.allowances = allowances;
        this.held = held;
    }

    /** The limits of a user. */
    Allowance allowance(Owner owner) {
        return allowances.of(owner);
    }

    /**
     * What GPUs count as.
     *
     * @param gpus shares and MIG instances count as their parts of GPUs
     * @param shares how many shares these are
     */
    public record Amount(double gpus, int shares) {
        /** What as many GPUs, whole or shares, count as. */
        static Amount of(GpuRequest.Count requested, double gpus) {
            return new Amount(gpus, requested.filter().share().isPresent() ? requested.gpus() : 0);
        }

        /** What these GPUs count as. */
        public static Amount of(List<ClaimedGpu> gpus) {
            return new Amount(
                    gpus.stream().mapToDouble(ClaimedGpu::count).sum(),
                    (int) gpus.stream().filter(gpu -> gpu.share().isPresent()).count());
        }
    }

    /** Why a user may not have more GPUs now. */
    public sealed interface Excess {}

    /** An excess that may end when the user gives GPUs back, or with time. */
    public sealed interface ForNow extends Excess {}

    /** Nobody's end would change it. */
    public sealed interface ForGood extends Excess {}

    /**
     * The user has too many GPUs for this request.
     *
     * @param leases the user's own
     * @param has what these leases count as
     * @param most the most shares, if it is their number that is too large
     */
    public record TooMany(
            Owner owner, List<Lease> leases, Rule<Integer> limit, Amount has, OptionalInt most)
            implements ForNow {
        /** Whether the user may have a GPU or a part of one more. */
        public boolean allowsMore() {
            return most.isEmpty() && has.gpus() + ROUNDING < limit.limit();
        }
    }

    /** The user's GPU-hours are used up. */
    public record NoHours(Owner owner, Allowance.Spent spent) implements ForNow {}

    /** More than the user may ever have. */
    public record Never(Rule<Integer> limit) implements ForGood {}

    /** The user may have other GPUs only. */
    public record Elsewhere(Rule<List<String>> allowed) implements ForGood {}

    /** The host has not resolved the user's groups. */
    public record Unsure(Owner owner) implements ForGood {}

    /** Why a user may not have so many GPUs and shares more now; empty if the rules allow it. */
    public Optional<Excess> excess(Owner owner, Amount more) {
        Allowance allowance = allowance(owner);
        if (more.gpus() == 0) {
            return Optional.empty();
        }
        if (!allowance.isKnown()) {
            return Optional.of(new Unsure(owner));
        }
        long mostShares = (long) allowance.most() * SHARES_OF_A_GPU;
        if (more.gpus() > allowance.most() + ROUNDING || more.shares() > mostShares) {
            return Optional.of(new Never(allowance.gpus().orElseThrow()));
        }
        if (allowance.spent().isPresent()) {
            return Optional.of(new NoHours(owner, allowance.spent().get()));
        }
        Amount has = new Amount(has(owner), shares(owner));
        boolean isTooMany = has.gpus() + more.gpus() > allowance.most() + ROUNDING;
        boolean areTooMany = more.shares() > 0 && has.shares() + more.shares() > mostShares;
        return !isTooMany && !areTooMany
                ? Optional.empty()
                : Optional.of(
                        new TooMany(
                                owner,
                                leases(owner),
                                allowance.gpus().orElseThrow(),
                                has,
                                isTooMany
                                        ? OptionalInt.empty()
                                        : OptionalInt.of((int) mostShares)));
    }

    /**
     * Whether a number of free GPUs may be kept for a user besides those that the user has. What is
     * not known of the user forbids nothing.
     */
    boolean allows(Owner owner, double kept) {
        return excess(owner, new Amount(kept, 0)).filter(why -> !(why instanceof Unsure)).isEmpty();
    }

    /** The leases of a user's, in order of their numbers. */
    private List<Lease> leases(Owner owner) {
        Map<Long, Lease> leases = new TreeMap<>();
        held.values().stream()
                .flatMap(List::stream)
                .filter(lease -> lease.claim().owner().isSameAs(owner))
                .forEach(lease -> leases.put(lease.id(), lease));
        return List.copyOf(leases.values());
    }

    /** How many GPUs a user has now; shares and MIG instances count as their parts of GPUs. */
    public double has(Owner owner) {
        return held.entrySet().stream()
                .mapToDouble(gpu -> has(owner, gpu.getKey(), gpu.getValue()))
                .sum();
    }

    private int shares(Owner owner) {
        return held.entrySet().stream()
                .mapToInt(gpu ->
                        (int)
                                gpu.getValue().stream()
                                        .filter(lease -> lease.claim().owner().isSameAs(owner))
                                        .filter(lease -> lease.share(gpu.getKey()).isPresent())
                                        .count())
                .sum();
    }

    /** What a party has counts once. */
    private static double has(Owner owner, String gpu, List<Lease> leases) {
        double all =
                leases.stream()
                        .filter(lease -> lease.claim().owner().isSameAs(owner))
                        .mapToDouble(lease -> lease.count(gpu))
                        .sum();
        return Math.min(1, all);
    }
}
