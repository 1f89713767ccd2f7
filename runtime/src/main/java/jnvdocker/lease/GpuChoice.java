package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Chooses GPUs for a request: all that it requests, or none. The verdicts on the GPUs that it may
 * be given say which it can have, and of these the best are picked. The same request and the same
 * situation give the same choice.
 */
public final class GpuChoice {
    private final Situation now;

    /** Many may wait for the same, which comes to the same until more is kept. */
    private final Map<Requested, Scope> scopes;

    private final Map<Requested, Outcome> outcomes;

    private GpuChoice(Situation now) {
        this.now = now;
        scopes = new ConcurrentHashMap<>();
        outcomes = new ConcurrentHashMap<>();
    }

    /**
     * @param waiting the clients that have waited longer: nobody else gets the GPUs kept for them
     */
    public GpuChoice(Situation now, Collection<Ticket> waiting) {
        GpuChoice last = new GpuChoice(now);
        for (Ticket ticket : waiting) {
            last = last.keeping(ticket).orElse(last);
        }
        this.now = last.now;
        scopes = last.scopes;
        outcomes = last.outcomes;
    }

    /** The choice as if one more lease had begun. */
    public GpuChoice with(Lease lease) {
        return new GpuChoice(now.with(lease));
    }

    /** The verdict on a GPU for anybody who requests the whole of it at this moment. */
    public Verdict verdict(Gpu gpu) {
        return now.verdict(gpu, Requested.ANYBODY);
    }

    /** The verdict on a GPU for a request. */
    public Verdict verdict(Gpu gpu, Requested requested) {
        return now.verdict(gpu, requested);
    }

    /** The verdicts on all GPUs for anybody likewise, in order of index. */
    public List<Verdict> verdicts() {
        return now.verdicts(Requested.ANYBODY);
    }

    /** The verdicts on the GPUs that a request may be given. */
    public Scope scope(Requested requested) {
        return scopes.computeIfAbsent(requested, it -> Scope.of(now, it));
    }

    /** All leases of a GPU, the oldest first. */
    public List<Lease> holders(Gpu gpu) {
        return now.holders(gpu);
    }

    /** How many bytes of a GPU's memory its shares may have together; 0 if it is not shared. */
    public long shareLimit(Gpu gpu) {
        return now.traits().shareLimit(gpu);
    }

    /** What is kept for the owners of stopped containers and of bookings, by UUID. */
    public Map<String, Kept> aside() {
        return now.keptAside();
    }

    /** The clients for which anything is kept. */
    public Set<Ticket> keepers() {
        return now.keepers();
    }

    /**
     * The choice while the free GPUs that the next client in the queue waits for are kept for it,
     * and the rest of shared ones in place of those that are missing. They are no more than it
     * needs.
     *
     * @return empty if it cannot be served, whichever GPUs others give back: none are kept for it
     */
    public Optional<GpuChoice> keeping(Ticket ticket) {
        Scope scope = scope(ticket.requested());
        if (!scope.canBeServed()) {
            return Optional.empty();
        }
        List<Verdict> free =
                scope.wanted().stream().filter(it -> it.isInService() && !it.isBusy()).toList();
        List<Verdict> rests =
                scope.wanted().stream()
                        .filter(it -> it.isInService() && it.isShared() && it.kept().isEmpty())
                        .filter(it -> !free.contains(it))
                        .sorted(Comparator.comparingLong(Verdict::left).reversed())
                        .toList();
        List<Gpu> kept = new ArrayList<>();
        if (ticket.requested().request() instanceof GpuRequest.Count(int count, _)) {
            kept.addAll(pick(scope).best(scope.requested(), free, count));
            rests.stream()
                    .limit(Math.max(0, count - kept.size()))
                    .forEach(it -> kept.add(it.gpu()));
        } else {
            kept.addAll(Scope.gpus(free));
            kept.addAll(Scope.gpus(rests));
        }
        return Optional.of(kept.isEmpty() ? this : new GpuChoice(now.keeping(kept, ticket)));
    }

    private GpuPick pick(Scope scope) {
        return new GpuPick(now, scope.free());
    }

    /**
     * The outcome of a request, while the GPUs of the clients before it are kept.
     *
     * @throws RefusedException when no GPU of this host has an id that is requested
     */
    public Outcome of(Requested requested) throws RefusedException {
        Outcome known = outcomes.get(requested);
        if (known == null) {
            known = decide(requested);
            outcomes.put(requested, known);
        }
        return known;
    }

    private Outcome decide(Requested requested) throws RefusedException {
        Scope scope = scope(requested);
        if (scope.isForOthers()) {
            return Outcome.beyond(scope.numberOfAll(), elsewhere(requested.owner()));
        }
        Outcome outcome =
                switch (requested.request()) {
                    case GpuRequest.None _ -> new Outcome.Chosen(List.of());
                    case GpuRequest.All _ ->
                            scope.wanted().isEmpty()
                                    ? nothingUsable(scope)
                                    : these(requested, scope.wanted(), scope.some());
                    case GpuRequest.Count count -> count(count, scope);
                    case GpuRequest.Devices(List<String> ids) ->
                            these(requested, Scope.named(ids, scope.some()), scope.some());
                    case GpuRequest.With(String name) -> with(name, scope);
                };
        // The user's own leases are named before those of others: the user can end them.
        return outcome instanceof Outcome.Impossible || scope.excess().isEmpty()
                ? outcome
                : Outcome.beyond(scope.number(), scope.excess().get());
    }

    /** The GPUs that the user holds already: they count for no limit once more. */
    private Outcome with(String name, Scope scope) {
        Owner owner = scope.requested().owner();
        List<Lease> named = HolderName.meant(name, now.holdings().leases());
        List<Lease> own =
                HolderName.meant(
                        name,
                        now.holdings().leases().stream()
                                .filter(lease -> lease.claim().owner().isSameAs(owner))
                                .toList());
        if (owner.isUnknown() || own.size() != 1) {
            return new Outcome.NotBeside(name, owner, named, own.size() > 1);
        }
        Lease lease = own.getFirst();
        List<Verdict> its =
                scope.all().stream()
                        .filter(it -> lease.isOf(it.gpu().uuid()))
                        .map(it -> beside(lease, it))
                        .toList();
        if (lease.claim().origin().isScheduled()
                || lease.claim().share().isPresent()
                || its.size() < lease.claim().gpus().size()) {
            return new Outcome.NotBeside(name, owner, own, false);
        }
        Outcome outcome = these(scope.requested(), its, scope.some());
        return outcome instanceof Outcome.Chosen(List<Gpu> gpus, _, _)
                ? new Outcome.Chosen(gpus, Optional.of(lease), Map.of())
                : outcome;
    }

    /** The verdict for one whose party has the GPU, and whom no waiting client can keep from it. */
    private Verdict beside(Lease lease, Verdict verdict) {
        List<Lease> others =
                now.opening(verdict.gpu()).stream()
                        .filter(other -> !other.claim().isBeside(lease.claim()))
                        .toList();
        Stream<Verdict.Reason> reasons =
                verdict.reasons().stream()
                        .filter(reason -> !(reason instanceof Verdict.KeptFor(Ticket _)))
                        .filter(reason -> !others.isEmpty() || !(reason instanceof Verdict.Held));
        return new Verdict(verdict.gpu(), others, verdict.left(), reasons.toList());
    }

    /**
     * Whether a scheduler can have the GPUs that it has chosen. The limits of users are not for it,
     * and where it has given a GPU to somebody, it knows the next holder itself.
     *
     * @param its whether a lease is one of the scheduler's
     */
    public Outcome chosenBy(List<Gpu> named, Predicate<Lease> its) {
        List<Verdict> others =
                named.stream()
                        .filter(gpu ->
                                holders(gpu).isEmpty()
                                        || !holders(gpu).stream().allMatch(its)
                                        || !now.opening(gpu).isEmpty())
                        .map(gpu -> now.verdict(gpu, Requested.SCHEDULED))
                        .toList();
        List<String> ids = named.stream().map(Gpu::number).toList();
        Requested requested = Requested.SCHEDULED.with(new GpuRequest.Devices(ids), Set.of());
        Outcome outcome = these(requested, others, others);
        return outcome instanceof Outcome.Chosen ? new Outcome.Chosen(named) : outcome;
    }

    /**
     * What the limits of a user make of GPUs that a scheduler has chosen; empty if they allow them.
     */
    public Optional<Outcome.Unmet> beyondLimits(Owner owner, List<ClaimedGpu> chosen) {
        GpuRequest.Count number = new GpuRequest.Count(chosen.size());
        Requested requested = new Requested(number, owner);
        List<String> uuids = chosen.stream().map(ClaimedGpu::uuid).toList();
        boolean isAllowed =
                now.verdicts(requested.with(number, Set.copyOf(uuids))).stream()
                        .noneMatch(it -> it.is(Verdict.NotAllowed.class));
        return now.quota()
                .excess(owner, Quota.Amount.of(chosen))
                .or(() -> isAllowed ? Optional.empty() : Optional.of(elsewhere(owner)))
                .map(excess ->
                        switch (excess) {
                            case Quota.ForNow later -> new Outcome.OverQuota(number, later);
                            case Quota.ForGood ever -> new Outcome.NeverTheirs(chosen, ever);
                        });
    }

    private Quota.Elsewhere elsewhere(Owner owner) {
        return new Quota.Elsewhere(now.quota().allowance(owner).allowed().orElseThrow());
    }

    /**
     * The usual choice among the GPUs that a scheduler has left, which need not be free: those that
     * are come first.
     *
     * @param included those of them that are chosen already
     * @param count how many there are to be with these
     * @return in order of index
     */
    public List<Gpu> preferred(List<Gpu> available, List<Gpu> included, int count) {
        List<Gpu> rest = new ArrayList<>(available);
        rest.removeAll(included);
        return pick(scope(Requested.ANYBODY)).preferred(rest, included, count);
    }

    private static Outcome nothingUsable(Scope scope) {
        return scope.some().stream()
                .filter(it -> !it.is(Verdict.Sick.class))
                .findFirst()
                .or(() -> scope.some().stream().findFirst())
                .<Outcome>map(it -> new Outcome.Barred(it, List.of()))
                .orElseGet(Outcome.NoGpu::new);
    }

    private static Outcome these(Requested requested, List<Verdict> wanted, List<Verdict> some) {
        Optional<Verdict> barred =
                wanted.stream()
                        .filter(it -> it.is(Verdict.Sick.class) || it.is(Verdict.Nameless.class))
                        .findFirst()
                        .or(() -> wanted.stream().filter(Verdict::isBarred).findFirst());
        if (barred.isPresent()) {
            return new Outcome.Barred(barred.get(), Scope.free(some));
        }
        List<Verdict> busy = wanted.stream().filter(Verdict::isBusy).toList();
        return busy.isEmpty()
                ? new Outcome.Chosen(Scope.gpus(wanted))
                : new Outcome.Taken(requested.request(), busy, Scope.free(some));
    }

    private Outcome count(GpuRequest.Count count, Scope scope) {
        List<Verdict> usable = scope.some().stream().filter(Verdict::isInService).toList();
        if (usable.isEmpty()) {
            return nothingUsable(scope);
        }
        List<Verdict> matching = usable.stream().filter(Verdict::isSuited).toList();
        if (count.gpus() > matching.size()) {
            return tooFew(count, usable, scope);
        }
        List<Verdict> free = matching.stream().filter(it -> !it.isBusy()).toList();
        if (free.size() < count.gpus()) {
            List<Verdict> busy = matching.stream().filter(Verdict::isBusy).toList();
            return new Outcome.Taken(count, busy, Scope.gpus(free));
        }
        List<Gpu> chosen = pick(scope).best(scope.requested(), free, count.gpus());
        Optional<Verdict> nameless =
                free.stream()
                        .filter(it -> !it.gpu().hasUuid() && chosen.contains(it.gpu()))
                        .findFirst();
        if (nameless.isPresent()) {
            return new Outcome.Barred(nameless.get(), List.of());
        }
        Map<String, Share> shares = new HashMap<>();
        chosen.forEach(gpu ->
                now.traits()
                        .share(count.filter(), gpu)
                        .ifPresent(share -> shares.put(gpu.uuid(), share)));
        return new Outcome.Chosen(chosen, Optional.empty(), shares);
    }

    private Outcome tooFew(GpuRequest.Count count, List<Verdict> usable, Scope scope) {
        List<Verdict> unclear = usable.stream().filter(Verdict::isUnclear).toList();
        if (!unclear.isEmpty()) {
            return new Outcome.Unclear(count, Scope.gpus(unclear));
        }
        List<Verdict> suited = scope.wanted();
        if (count.filter().share().isEmpty() || suited.size() >= count.gpus()) {
            return new Outcome.TooFew(count, suited);
        }
        Map<Gpu, Long> limits = new LinkedHashMap<>();
        Scope.gpus(scope.some()).stream()
                .filter(gpu -> shareLimit(gpu) > 0)
                .forEach(gpu -> limits.put(gpu, shareLimit(gpu)));
        return new Outcome.NotShared(count, limits);
    }
}
