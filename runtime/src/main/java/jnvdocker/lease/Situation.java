package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * All that a choice of GPUs depends on, as of one moment, and the {@link Verdict} on each GPU that
 * follows from it. It does not change: what is given or kept later makes another situation.
 */
public final class Situation {
    private final List<Gpu> gpus;
    private final GpuTraits traits;
    private final Holdings holdings;
    private final UnmanagedUses unmanaged;
    private final LeasePolicy policy;
    private final Allowances allowances;
    private final Map<String, Ticket> kept;

    /** What is kept for the owners of stopped containers and of bookings, by UUID. */
    private final Map<String, Kept> aside;

    private final Quota quota;

    /** Those that were needed. */
    private final Map<Gpu, Facts> facts;

    /**
     * What is true of a GPU, whoever requests it.
     *
     * @param leases as a verdict has them
     * @param holders all of them, if the GPU is not shared either
     * @param opening those of other GPUs, whose holders may open it
     * @param uses without a lease
     */
    private record Facts(
            Optional<Cordon> cordon,
            List<Lease> leases,
            List<Lease> holders,
            List<Lease> opening,
            List<Share> shares,
            List<GpuUse> uses) {}

    /**
     * @param gpus those of the host, in order of index
     * @param allowances what the users may have
     */
    public Situation(
            List<Gpu> gpus,
            GpuTraits traits,
            Holdings holdings,
            UnmanagedUses unmanaged,
            LeasePolicy policy,
            Allowances allowances) {
        this.gpus = List.copyOf(gpus);
        this.traits = traits;
        this.holdings = holdings;
        this.unmanaged = unmanaged;
        this.policy = policy;
        this.allowances = allowances;
        kept = Map.of();
        aside = aside();
        quota = new Quota(allowances, holdings.held());
        facts = new ConcurrentHashMap<>();
    }

    private Situation(Situation other, Map<String, Ticket> kept) {
        gpus = other.gpus;
        traits = other.traits;
        holdings = other.holdings;
        unmanaged = other.unmanaged;
        policy = other.policy;
        allowances = other.allowances;
        this.kept = Map.copyOf(kept);
        aside = other.aside;
        quota = other.quota;
        facts = other.facts;
    }

    /** A booking counts for more than a stopped container. */
    private Map<String, Kept> aside() {
        Map<String, Kept> found =
                new HashMap<>(holdings.afterStop(policy.holdAfterStop(), allowances));
        List<Booking> booked = holdings.bookedNow();
        for (Gpu gpu : gpus) {
            booked.stream()
                    .filter(booking -> booking.isOf(gpu))
                    .forEach(booking -> found.put(gpu.uuid(), booking));
        }
        return found;
    }

    /** The situation after one more lease has begun. */
    Situation with(Lease lease) {
        return new Situation(
                new Situation(gpus, traits, holdings.with(lease), unmanaged, policy, allowances),
                kept);
    }

    /** The situation in which some GPUs are kept for a client that waits, too. */
    Situation keeping(List<Gpu> some, Ticket ticket) {
        Map<String, Ticket> all = new HashMap<>(kept);
        some.forEach(gpu -> all.put(gpu.uuid(), ticket));
        return new Situation(this, all);
    }

    List<Gpu> gpus() {
        return gpus;
    }

    GpuTraits traits() {
        return traits;
    }

    Holdings holdings() {
        return holdings;
    }

    Quota quota() {
        return quota;
    }

    Map<String, Kept> keptAside() {
        return aside;
    }

    /** The clients for which anything is kept. */
    Set<Ticket> keepers() {
        return Set.copyOf(kept.values());
    }

    /** The verdicts on all GPUs that a request may be given, in order of index. */
    List<Verdict> verdicts(Requested requested) {
        Allowance allowance = quota.allowance(requested.owner());
        return gpus.stream()
                .filter(gpu ->
                        requested.candidates().isEmpty()
                                || requested.candidates().contains(gpu.uuid()))
                .map(gpu -> verdict(gpu, requested, allowance))
                .toList();
    }

    /** The verdict on one GPU. */
    Verdict verdict(Gpu gpu, Requested requested) {
        return verdict(gpu, requested, quota.allowance(requested.owner()));
    }

    private Verdict verdict(Gpu gpu, Requested requested, Allowance allowance) {
        Facts its = its(gpu);
        List<Verdict.Reason> reasons = new ArrayList<>();
        gpu.trouble().map(Verdict.Sick::new).ifPresent(reasons::add);
        if (!gpu.hasUuid()) {
            reasons.add(new Verdict.Nameless());
        }
        its.cordon().map(Verdict.Cordoned::new).ifPresent(reasons::add);
        if (!allowance.allows(gpu)) {
            reasons.add(new Verdict.NotAllowed());
        }
        if (requested.request() instanceof GpuRequest.Count(_, GpuFilter filter)) {
            unsuited(gpu, filter).ifPresent(reasons::add);
        }
        long left = left(gpu, its);
        held(gpu, its, left, requested).ifPresent(reasons::add);
        Stream.concat(
                        Optional.<Kept>ofNullable(kept.get(gpu.uuid())).stream(),
                        barred(gpu, requested, allowance).stream())
                .map(Verdict.KeptFor::new)
                .forEach(reasons::add);
        if (!its.uses().isEmpty()) {
            boolean named = requested.isByName();
            reasons.add(
                    new Verdict.InUse(
                            its.uses(),
                            !named || unmanaged.bars(gpu.uuid()),
                            !named || !unmanaged.allowed()));
        }
        return new Verdict(gpu, its.leases(), left, reasons);
    }

    /** All leases of a GPU, the oldest first. */
    List<Lease> holders(Gpu gpu) {
        return its(gpu).holders();
    }

    /** The leases of other GPUs whose holders may open this one. */
    List<Lease> opening(Gpu gpu) {
        return its(gpu).opening();
    }

    private Facts its(Gpu gpu) {
        return facts.computeIfAbsent(gpu, this::facts);
    }

    private Facts facts(Gpu gpu) {
        List<Lease> opening = holdings.opening(gpu);
        List<Lease> holders = holdings.holders(gpu, opening);
        List<Share> shares = holdings.shares(gpu.uuid());
        List<Lease> leases =
                shares.isEmpty()
                        ? Stream.concat(holdings.of(gpu).stream(), opening.stream())
                                .distinct()
                                .toList()
                        : holders;
        return new Facts(
                new Cordons(policy, holdings.cordoned()).of(gpu),
                leases,
                holders,
                opening,
                shares,
                unmanaged.of(gpu));
    }

    private Optional<Verdict.Unsuited> unsuited(Gpu gpu, GpuFilter filter) {
        return traits.meets(filter, gpu)
                ? Optional.empty()
                : Optional.of(new Verdict.Unsuited(traits.mayMeet(filter, gpu)));
    }

    /** How many bytes of a GPU may be given as shares besides those that are held. */
    private long left(Gpu gpu, Facts its) {
        return its.leases().isEmpty() || !its.shares().isEmpty()
                ? traits.shareLimit(gpu) - Share.sum(its.shares())
                : 0;
    }

    private Optional<Verdict.Held> held(Gpu gpu, Facts its, long left, Requested requested) {
        boolean isEnough =
                its.opening().isEmpty()
                        && requested.share().filter(share -> share.bytes() <= left).isPresent();
        return its.leases().isEmpty() || isEnough
                ? Optional.empty()
                : Optional.of(new Verdict.Held(isOwn(gpu, its, requested)));
    }

    /**
     * Whether the request could not have it either if the leases of others had ended. A Mesos task
     * does not end another; its agent has ended that, or would not offer the GPU.
     */
    private boolean isOwn(Gpu gpu, Facts its, Requested requested) {
        List<Lease> own =
                its.holders().stream()
                        .filter(lease -> lease.claim().owner().uid() == requested.owner().uid())
                        .filter(lease ->
                                !(requested.scheduled() && lease.claim().origin().isScheduled()))
                        .toList();
        List<Share> shares =
                own.stream().flatMap(lease -> lease.share(gpu.uuid()).stream()).toList();
        return requested.share().isPresent() && shares.size() == own.size()
                ? traits.shareLimit(gpu) - Share.sum(shares) < requested.share().get().bytes()
                : !own.isEmpty();
    }

    /** For whom a GPU is kept from the user of a request, besides clients that wait. */
    private Optional<Kept> barred(Gpu gpu, Requested requested, Allowance allowance) {
        Optional<Kept> now =
                Optional.ofNullable(aside.get(gpu.uuid()))
                        .filter(it -> !it.owner().isSameAs(requested.owner()));
        if (now.isPresent() || policy.bookings().kind() != BookingRule.Kind.REFUSE) {
            return now;
        }
        Optional<Instant> until = allowance.time(requested.time()).map(holdings.now()::plus);
        return holdings.next(requested.owner(), gpu)
                .filter(next -> until.filter(end -> !end.isAfter(next.from())).isEmpty())
                .map(Kept.class::cast);
    }

    /** Whether a GPU is booked for a user now. */
    boolean isBookedFor(Owner owner, Gpu gpu) {
        return aside.get(gpu.uuid()) instanceof Booking booking && booking.owner().isSameAs(owner);
    }

    /** Whether others have booked a GPU, and may have it later. */
    boolean isBookedLater(Owner owner, Gpu gpu) {
        return holdings.next(owner, gpu).isPresent();
    }
}
