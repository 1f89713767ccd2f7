package jnvdocker.lease;

import jnvdocker.host.Gpu;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What each user may have, and has. The pods of a namespace of Kubernetes are one user's, with a
 * limit of their own.
 */
public final class Quota {
    /** Sums of parts are not exact; no part is as small as that. */
    private static final double ROUNDING = 1e-9;

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

    /** Whether there are any limits, so that the owner matters. */
    boolean isLimited() {
        return allowances.areLimited();
    }

    /** The limits of a user. */
    Allowance allowance(Owner owner) {
        return allowances.of(owner);
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
     * @param has how many that is; shares and MIG instances count as their parts of GPUs
     */
    public record TooMany(Owner owner, List<Lease> leases, Rule<Integer> limit, double has)
            implements ForNow {
        /** Whether the user may have a GPU or a part of one more. */
        public boolean allowsMore() {
            return has + ROUNDING < limit.limit();
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

    /**
     * Why a user may not have a number of GPUs more now; empty if the rules allow it.
     *
     * @param more shares and MIG instances count as their parts of GPUs
     */
    public Optional<Excess> excess(Owner owner, double more) {
        Allowance allowance = allowance(owner);
        if (more == 0) {
            return Optional.empty();
        }
        if (!allowance.isKnown()) {
            return Optional.of(new Unsure(owner));
        }
        if (more > allowance.most() + ROUNDING) {
            return Optional.of(new Never(allowance.gpus().orElseThrow()));
        }
        if (allowance.spent().isPresent()) {
            return Optional.of(new NoHours(owner, allowance.spent().get()));
        }
        double has = has(owner);
        return has + more <= allowance.most() + ROUNDING
                ? Optional.empty()
                : Optional.of(
                        new TooMany(owner, leases(owner), allowance.gpus().orElseThrow(), has));
    }

    /**
     * Why a user may not have these GPUs, or shares of them, now, too.
     *
     * @param more what they count as
     */
    public Optional<Excess> excess(Owner owner, double more, List<Gpu> gpus) {
        Allowance allowance = allowance(owner);
        return excess(owner, more)
                .or(() ->
                        gpus.stream().allMatch(allowance::allows)
                                ? Optional.empty()
                                : allowance.allowed().map(Elsewhere::new));
    }

    /** Whether the configuration forbids a user ever to have a number of GPUs. */
    boolean forbids(Owner owner, double gpus) {
        return excess(owner, gpus).filter(Never.class::isInstance).isPresent();
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
