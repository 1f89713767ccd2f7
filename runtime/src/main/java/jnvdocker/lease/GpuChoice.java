package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.request.MemorySize;
import jnvdocker.words.RefusedException;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Chooses GPUs for a request: all that it requests, or none. The same request and the same state of
 * the host give the same choice.
 */
public final class GpuChoice {
    private final List<Gpu> gpus;
    private final GpuTraits traits;
    private final Holdings holdings;
    private final UnmanagedUses unmanaged;
    private final Map<String, Ticket> kept;

    /** What is kept for the owners of stopped containers and of bookings, by UUID. */
    private final Map<String, Kept> aside;

    private final Rights rights;

    private final Cordons cordons;
    private final Quota quota;
    private final Prospects prospects;

    /** Many may wait for the same, which comes to the same until more is kept. */
    private record Requested(
            GpuRequest request,
            Set<String> candidates,
            Optional<Owner> owner,
            Optional<Duration> time,
            int kept) {}

    private final Map<Requested, Outcome> outcomes = new HashMap<>();

    /**
     * What is kept from the user at hand, and what is booked.
     *
     * @param barred what the user cannot have, by UUID
     * @param own the UUIDs of the GPUs that the user has booked for now
     * @param later the UUIDs of the GPUs that others have booked, and may have later
     */
    private record Rights(Map<String, Kept> barred, Set<String> own, Set<String> later) {
        private static final Rights ALL = new Rights(Map.of(), Set.of(), Set.of());
    }

    /** The GPUs that can be given out at all. */
    private final List<Gpu> usable;

    /** A choice for users without known groups and used hours. */
    public GpuChoice(
            List<Gpu> gpus,
            GpuTraits traits,
            Holdings holdings,
            UnmanagedUses unmanaged,
            Collection<Ticket> waiting,
            LeasePolicy policy) {
        this(gpus, traits, holdings, unmanaged, waiting, policy, Allowances.of(policy.limits()));
    }

    /**
     * @param gpus those of the host, in order of index
     * @param waiting the clients that have waited longer: nobody else gets the GPUs kept for them
     * @param allowances what the users may have
     */
    public GpuChoice(
            List<Gpu> gpus,
            GpuTraits traits,
            Holdings holdings,
            UnmanagedUses unmanaged,
            Collection<Ticket> waiting,
            LeasePolicy policy,
            Allowances allowances) {
        this(
                gpus,
                traits,
                holdings,
                unmanaged,
                new HashMap<>(),
                aside(gpus, holdings, policy, allowances),
                Rights.ALL,
                new Cordons(policy, holdings.cordoned()),
                new Quota(allowances, holdings.held()));
        waiting.forEach(this::keep);
    }

    private GpuChoice(
            List<Gpu> gpus,
            GpuTraits traits,
            Holdings holdings,
            UnmanagedUses unmanaged,
            Map<String, Ticket> kept,
            Map<String, Kept> aside,
            Rights rights,
            Cordons cordons,
            Quota quota) {
        this.gpus = gpus;
        this.traits = traits;
        this.holdings = holdings;
        this.unmanaged = unmanaged;
        this.kept = kept;
        this.aside = aside;
        this.rights = rights;
        this.cordons = cordons;
        this.quota = quota;
        prospects = new Prospects(gpus, traits, holdings, unmanaged, cordons, quota);
        usable = gpus.stream().filter(gpu -> gpu.isSound() && cordons.of(gpu).isEmpty()).toList();
    }

    /** A booking counts for more than a stopped container. */
    private static Map<String, Kept> aside(
            List<Gpu> gpus, Holdings holdings, LeasePolicy policy, Allowances allowances) {
        Map<String, Kept> aside =
                new HashMap<>(holdings.afterStop(policy.holdAfterStop(), allowances));
        List<Booking> booked = holdings.bookedNow();
        for (Gpu gpu : gpus) {
            booked.stream()
                    .filter(booking -> booking.isOf(gpu))
                    .forEach(booking -> aside.put(gpu.uuid(), booking));
        }
        return aside;
    }

    /**
     * From now on the free GPUs that the next client in the queue waits for are kept for it, and
     * the rest of shared ones in place of those that are missing. They are no more than it needs,
     * and none if it cannot be served, whichever GPUs others give back.
     *
     * @return whether it can be served
     */
    public boolean keep(Ticket ticket) {
        GpuChoice its = among(ticket);
        if (!its.prospects.canBeServed(ticket)) {
            return false;
        }
        List<Gpu> wanted = its.prospects.wanted(ticket.request());
        List<Gpu> free =
                wanted.stream().filter(gpu -> its.isFreeFor(ticket.request(), gpu)).toList();
        List<Gpu> rests = its.rests(wanted.stream().filter(gpu -> !free.contains(gpu)).toList());
        if (ticket.request() instanceof GpuRequest.Count(int count, GpuFilter filter)) {
            List<Gpu> best = its.best(free, count, filter.share());
            best.forEach(gpu -> kept.put(gpu.uuid(), ticket));
            rests.stream()
                    .limit(Math.max(0, count - best.size()))
                    .forEach(gpu -> kept.put(gpu.uuid(), ticket));
        } else {
            free.forEach(gpu -> kept.put(gpu.uuid(), ticket));
            rests.forEach(gpu -> kept.put(gpu.uuid(), ticket));
        }
        return true;
    }

    /** Those of which others have shares and nobody gets another one, the emptiest first. */
    private List<Gpu> rests(List<Gpu> some) {
        return some.stream()
                .filter(gpu -> usable.contains(gpu) && isShared(gpu) && !isKept(gpu))
                .sorted(Comparator.comparingLong(this::left).reversed())
                .toList();
    }

    /** The obstacles of a client that cannot be served. */
    public List<Obstacle> obstacles(Ticket ticket) {
        return among(ticket).prospects.obstacles(ticket);
    }

    /** Whether the configuration never allows the request. */
    public boolean isForbidden(Ticket ticket) {
        GpuChoice its = among(ticket);
        return quota.forbids(ticket.owner(), its.prospects.counted(ticket.request()));
    }

    /** A choice among the GPUs that a waiting client may be given. */
    private GpuChoice among(Ticket ticket) {
        GpuChoice its = among(ticket.candidates()).barring(ticket.owner(), ticket.time());
        return its.only(its.allowed(ticket.owner())).within(ticket.request(), ticket.owner());
    }

    /**
     * A choice among the GPUs of which the user may have as many as are requested: some count as
     * less than others. If there are not so many, all are left, and the request is over the limit.
     */
    private GpuChoice within(GpuRequest request, Owner owner) {
        if (!(request instanceof GpuRequest.Count count)) {
            return this;
        }
        Predicate<Gpu> fits =
                gpu ->
                        quota.excess(
                                        owner,
                                        Quota.Amount.of(
                                                count,
                                                count.gpus() * traits.count(count.filter(), gpu)))
                                .isEmpty();
        List<Gpu> matching = traits.matching(count.filter(), gpus);
        List<Gpu> fitting = matching.stream().filter(fits).toList();
        return fitting.size() < count.gpus() || fitting.size() == matching.size()
                ? this
                : only(fitting);
    }

    /**
     * A choice for a user, who cannot have what is kept for others.
     *
     * @param time how long the user wants the GPUs; empty for as long as the holder
     */
    private GpuChoice barring(Owner owner, Optional<Duration> time) {
        if (aside.isEmpty() && holdings.booked().isEmpty()) {
            return this;
        }
        Map<String, Kept> barred = new HashMap<>();
        Set<String> own = new HashSet<>();
        Set<String> later = new HashSet<>();
        Optional<Instant> until =
                quota.allowance(owner).time(time).map(lasts -> holdings.now().plus(lasts));
        for (Gpu gpu : gpus) {
            String uuid = gpu.uuid();
            Optional<Kept> now = Optional.ofNullable(aside.get(uuid));
            if (now.filter(it -> !it.owner().isSameAs(owner)).isPresent()) {
                barred.put(uuid, now.get());
            } else if (now.filter(Booking.class::isInstance).isPresent()) {
                own.add(uuid);
            }
            Optional<Booking> next = holdings.next(owner, gpu);
            if (next.isPresent()) {
                later.add(uuid);
                if (isStrict() && until.filter(end -> !end.isAfter(next.get().from())).isEmpty()) {
                    barred.putIfAbsent(uuid, next.get());
                }
            }
        }
        return barring(new Rights(barred, own, later));
    }

    /** Whether a user who may need a GPU until others have booked it does not get it. */
    private boolean isStrict() {
        return cordons.policy().bookings().kind() == BookingRule.Kind.REFUSE;
    }

    private GpuChoice barring(Rights others) {
        return others.equals(rights)
                ? this
                : new GpuChoice(
                        gpus, traits, holdings, unmanaged, kept, aside, others, cordons, quota);
    }

    /** The GPUs that the configuration lets a user have. */
    private List<Gpu> allowed(Owner owner) {
        return gpus.stream().filter(quota.allowance(owner)::allows).toList();
    }

    /** A choice among these GPUs alone; among all when none are named. */
    private GpuChoice among(Set<String> candidates) {
        return candidates.isEmpty()
                ? this
                : only(gpus.stream().filter(gpu -> candidates.contains(gpu.uuid())).toList());
    }

    private GpuChoice only(List<Gpu> some) {
        return some.size() == gpus.size()
                ? this
                : new GpuChoice(
                        some, traits, holdings, unmanaged, kept, aside, rights, cordons, quota);
    }

    /** The choice as if one more lease had begun. */
    public GpuChoice with(Lease lease) {
        return new GpuChoice(
                gpus, traits, holdings.with(lease), unmanaged, kept, aside, rights, cordons, quota);
    }

    /** The lease for which nobody else may have a GPU. */
    public Optional<Lease> holder(Gpu gpu) {
        return holdings.of(gpu);
    }

    /** All leases of a GPU, the oldest first. */
    public List<Lease> holders(Gpu gpu) {
        return holdings.holders(gpu);
    }

    /** How many bytes of a GPU's memory its shares may have together; 0 if it is not shared. */
    public long shareLimit(Gpu gpu) {
        return traits.shareLimit(gpu);
    }

    /** The waiting client that a free GPU, or the rest of a shared one, is kept for. */
    public Optional<Ticket> keptFor(Gpu gpu) {
        return Optional.ofNullable(kept.get(gpu.uuid()));
    }

    /** Why a free GPU is kept for one user: a stopped container, or a booking. */
    public Optional<Kept> setAside(Gpu gpu) {
        return Optional.ofNullable(aside.get(gpu.uuid())).filter(_ -> !isHeld(gpu));
    }

    /** The bookings of a GPU that are not over, the first to begin first. */
    public List<Booking> bookings(Gpu gpu) {
        return holdings.bookings(gpu);
    }

    /** The clients for which anything is kept. */
    public Set<Ticket> keepers() {
        return Set.copyOf(kept.values());
    }

    /** Why a GPU gets no new lease. */
    public Optional<Cordon> cordon(Gpu gpu) {
        return cordons.of(gpu);
    }

    /** The outcome of a request. */
    public sealed interface Outcome {}

    /**
     * The GPUs of a request.
     *
     * @param gpus in order of index
     * @param beside the lease under which they are held already, if the request was for those
     * @param shares those of the request, by UUID; none of whole GPUs
     */
    public record Chosen(List<Gpu> gpus, Optional<Lease> beside, Map<String, Share> shares)
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

    /** Others have GPUs that are needed, or the user has: that may change. */
    public sealed interface Busy extends Outcome {
        /** The leases of the holders; a use without a lease has none here. */
        List<Lease> leases();
    }

    /**
     * Needed GPUs are in use.
     *
     * @param busy the GPUs that are not free of those that are requested, or could be chosen
     * @param kept the reasons why free GPUs are kept from this user, by UUID
     * @param free the GPUs that others could have; of shares, those of which enough is left
     */
    public record Taken(
            GpuRequest request,
            List<ClaimedGpu> busy,
            List<Lease> leases,
            UnmanagedUses unmanaged,
            Map<String, Kept> kept,
            List<Gpu> free)
            implements Busy {}

    /** The user's limits do not allow the request now. */
    public record OverQuota(GpuRequest.Count requested, Quota.ForNow excess) implements Busy {
        @Override
        public List<Lease> leases() {
            return excess instanceof Quota.TooMany many ? many.leases() : List.of();
        }
    }

    /** The request cannot be met, whatever holders end. */
    public sealed interface Impossible extends Outcome {}

    /** The user's limits never allow so many GPUs, or these. */
    public record NeverAllowed(GpuRequest.Count requested, Quota.ForGood excess)
            implements Impossible {}

    /**
     * The user holds nothing, or not one thing, of that name whose GPUs could be given again.
     *
     * @param user who requests them
     * @param holders the leases of that name; empty when there are none
     * @param several whether more than one is the user's own
     */
    public record NotBeside(String name, Owner user, List<Lease> holders, boolean several)
            implements Impossible {}

    /**
     * No GPU that may be shared has so much memory, or there are too few of them.
     *
     * @param limits how many bytes of these GPUs may be shared
     */
    public record NotShared(GpuRequest.Count requested, Map<Gpu, Long> limits)
            implements Impossible {}

    /** The host has none. */
    public record NoGpu() implements Impossible {}

    /** The driver cannot talk to it. */
    public record Sick(Gpu gpu) implements Impossible {}

    /**
     * Before anything opens a GPU, the driver shows question marks as its UUID: two such GPUs
     * cannot be distinguished.
     */
    public record Nameless(Gpu gpu) implements Impossible {}

    /**
     * It gets no new lease.
     *
     * @param free the GPUs that others could have
     */
    public record Cordoned(Gpu gpu, Cordon cordon, List<Gpu> free) implements Impossible {}

    /**
     * The host has too few GPUs.
     *
     * @param usable how many of those that are requested can be given out
     * @param sick those that the driver cannot talk to
     * @param cordoned those of the others that get no new lease
     */
    public record TooFew(
            GpuRequest.Count requested, int usable, List<Gpu> sick, Map<Gpu, Cordon> cordoned)
            implements Impossible {}

    /**
     * It is not known whether the host has enough GPUs.
     *
     * @param unclear the GPUs of which NVML does not report the memory
     */
    public record Unclear(GpuRequest.Count requested, List<Gpu> unclear) implements Impossible {}

    /**
     * The GPUs that a waiting client may be given, while those of the clients before it are kept.
     *
     * @throws RefusedException as for any request
     */
    public Outcome of(Ticket ticket) throws RefusedException {
        Requested requested =
                new Requested(
                        ticket.request(),
                        ticket.candidates(),
                        quota.isLimited() || !aside.isEmpty() || !holdings.booked().isEmpty()
                                ? Optional.of(ticket.owner())
                                : Optional.empty(),
                        ticket.time(),
                        kept.size());
        Outcome known = outcomes.get(requested);
        if (known == null) {
            known = of(ticket.request(), ticket.owner(), ticket.candidates(), ticket.time());
            outcomes.put(requested, known);
        }
        return known;
    }

    /**
     * @param candidates the UUIDs of the only GPUs that may be given; empty when any may
     * @param time how long they are wanted; empty for as long as the holder
     * @throws RefusedException as for any request
     */
    public Outcome of(
            GpuRequest request, Owner owner, Set<String> candidates, Optional<Duration> time)
            throws RefusedException {
        return among(candidates).of(request, owner, time);
    }

    /**
     * The outcome of a request for the GPUs of a claim, or for its shares of them.
     *
     * @param time how long they are wanted; empty for as long as the holder
     * @throws RefusedException as for any request
     */
    public Outcome of(Claim claim, Optional<Duration> time) throws RefusedException {
        List<String> uuids = claim.gpus().stream().map(ClaimedGpu::uuid).toList();
        return claim.share().isEmpty()
                ? of(new GpuRequest.Devices(uuids), claim.owner(), time)
                : of(
                        new GpuRequest.Count(uuids.size(), GpuFilter.sharing(claim.share())),
                        claim.owner(),
                        Set.copyOf(uuids),
                        time);
    }

    /** The outcome of a request for as long as its holder. */
    public Outcome of(GpuRequest request, Owner owner) throws RefusedException {
        return of(request, owner, Optional.empty());
    }

    /**
     * @param time how long they are wanted; empty for as long as the holder
     * @throws RefusedException when no GPU of this host has an id that is requested
     */
    public Outcome of(GpuRequest request, Owner owner, Optional<Duration> time)
            throws RefusedException {
        GpuChoice its = barring(owner, time);
        if (its != this) {
            return its.of(request, owner, time);
        }
        List<Gpu> allowed = allowed(owner);
        if (allowed.size() < gpus.size() && !(request instanceof GpuRequest.With)) {
            return isForOthers(request, allowed)
                    ? new NeverAllowed(
                            number(request),
                            new Quota.Elsewhere(quota.allowance(owner).allowed().orElseThrow()))
                    : only(allowed).of(request, owner, time);
        }
        GpuChoice within = within(request, owner);
        if (within != this) {
            return within.of(request, owner, time);
        }
        Outcome outcome =
                switch (request) {
                    case GpuRequest.None _ -> new Chosen(List.of());
                    case GpuRequest.All _ -> all(request);
                    case GpuRequest.Count count -> count(count);
                    case GpuRequest.Devices(List<String> ids) ->
                            named(request, GpuResolver.resolve(ids, gpus));
                    case GpuRequest.With(String name) -> with(name, owner);
                };
        return outcome instanceof Impossible ? outcome : withinQuota(outcome, request, owner);
    }

    /** The user's own leases are named before those of others: the user can end them. */
    private Outcome withinQuota(Outcome outcome, GpuRequest request, Owner owner) {
        Optional<Quota.Excess> excess = quota.excess(owner, prospects.counted(request));
        if (excess.isEmpty()) {
            return outcome;
        }
        return switch (excess.get()) {
            case Quota.ForNow now -> new OverQuota(number(request), now);
            case Quota.ForGood ever -> new NeverAllowed(number(request), ever);
        };
    }

    /** Whether a request is for GPUs that are not among those. */
    private boolean isForOthers(GpuRequest request, List<Gpu> allowed) throws RefusedException {
        return switch (request) {
            case GpuRequest.None _, GpuRequest.With _ -> false;
            case GpuRequest.All _ -> allowed.isEmpty();
            case GpuRequest.Count(int count, GpuFilter filter) ->
                    count > traits.matching(filter, allowed).size()
                            && traits.unclear(filter, allowed).isEmpty();
            case GpuRequest.Devices(List<String> ids) ->
                    !allowed.containsAll(GpuResolver.resolve(ids, gpus));
        };
    }

    /** As many GPUs as are requested, whole or shares, whichever they are. */
    private GpuRequest.Count number(GpuRequest request) {
        return new GpuRequest.Count(Math.max(1, gpus(request)), GpuFilter.sharing(share(request)));
    }

    private static Optional<MemorySize> share(GpuRequest request) {
        return request instanceof GpuRequest.Count(_, GpuFilter filter)
                ? filter.share()
                : Optional.empty();
    }

    private int gpus(GpuRequest request) {
        return switch (request) {
            // The user has those of another holder already.
            case GpuRequest.None _, GpuRequest.With _ -> 0;
            case GpuRequest.All _ -> usable.size();
            case GpuRequest.Count(int count, _) -> count;
            case GpuRequest.Devices(List<String> ids) -> ids.size();
        };
    }

    /** The GPUs that the user holds already: they count for no limit once more. */
    private Outcome with(String name, Owner owner) {
        List<Lease> named = HolderName.meant(name, holdings.leases());
        List<Lease> own =
                HolderName.meant(
                        name,
                        holdings.leases().stream()
                                .filter(lease -> lease.claim().owner().isSameAs(owner))
                                .toList());
        if (owner.isUnknown() || own.size() != 1) {
            return new NotBeside(name, owner, named, own.size() > 1);
        }
        Lease lease = own.getFirst();
        List<Gpu> its = gpus.stream().filter(gpu -> lease.isOf(gpu.uuid())).toList();
        if (lease.claim().origin().isScheduled()
                || lease.claim().share().isPresent()
                || its.size() < lease.claim().gpus().size()) {
            return new NotBeside(name, owner, own, false);
        }
        List<Gpu> barred =
                its.stream()
                        .filter(gpu ->
                                unmanaged.bars(gpu.uuid())
                                        || rights.barred().containsKey(gpu.uuid())
                                        || !opening(gpu, lease).isEmpty())
                        .toList();
        return nameless(its)
                .or(() -> its.stream().flatMap(gpu -> cordoned(gpu).stream()).findFirst())
                .map(Outcome.class::cast)
                .orElseGet(() ->
                        barred.isEmpty()
                                ? new Chosen(its, Optional.of(lease), Map.of())
                                : new Taken(
                                        new GpuRequest.With(name),
                                        barred.stream().map(ClaimedGpu::of).toList(),
                                        barred.stream()
                                                .flatMap(gpu -> opening(gpu, lease).stream())
                                                .distinct()
                                                .toList(),
                                        unmanaged,
                                        rights.barred(),
                                        List.of()));
    }

    /** The leases of other parties whose holders may open a GPU of this one. */
    private List<Lease> opening(Gpu gpu, Lease lease) {
        return holdings.opening(gpu).stream()
                .filter(other -> !other.claim().isBeside(lease.claim()))
                .toList();
    }

    private Outcome all(GpuRequest request) {
        return usable.isEmpty() ? nothingUsable() : these(request, usable, busyAmong(usable));
    }

    private Outcome named(GpuRequest request, List<Gpu> named) {
        List<Gpu> busy =
                named.stream()
                        .filter(gpu -> isHeld(gpu) || isKept(gpu) || unmanaged.bars(gpu.uuid()))
                        .toList();
        return these(request, named, busy);
    }

    /**
     * Whether a scheduler can have the GPUs that it has chosen. The limits of users are not for it,
     * and where it has given a GPU to somebody, it knows the next holder itself.
     *
     * @param its whether a lease is one of the scheduler's
     */
    public Outcome chosenBy(List<Gpu> named, Predicate<Lease> its) {
        GpuChoice all = barring(ofSchedulers());
        if (all != this) {
            return all.chosenBy(named, its);
        }
        List<Gpu> others =
                named.stream()
                        .filter(gpu ->
                                !isHeld(gpu)
                                        || !holdings.holders(gpu).stream().allMatch(its)
                                        || !holdings.opening(gpu).isEmpty())
                        .toList();
        List<String> ids = named.stream().map(Gpu::number).toList();
        Outcome outcome =
                these(
                        new GpuRequest.Devices(ids),
                        others,
                        others.stream().filter(this::isBusy).toList());
        return outcome instanceof Chosen ? new Chosen(named) : outcome;
    }

    /** What is kept for any user is not for a scheduler, which does not say how long. */
    private Rights ofSchedulers() {
        Map<String, Kept> barred = new HashMap<>();
        if (isStrict()) {
            gpus.forEach(gpu ->
                    bookings(gpu).stream()
                            .findFirst()
                            .ifPresent(booking -> barred.put(gpu.uuid(), booking)));
        }
        barred.putAll(aside);
        return new Rights(barred, Set.of(), Set.of());
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
        List<Gpu> chosen = new ArrayList<>(included);
        List<Gpu> rest = new ArrayList<>(available);
        rest.removeAll(included);
        List<Gpu> free = free(rest.stream().filter(usable::contains).toList());
        List<Gpu> whole = free.stream().filter(gpu -> gpu.part().isEmpty()).toList();
        add(chosen, unshared(whole), count, traits.connections());
        add(chosen, whole, count, traits.connections());
        add(chosen, free, count, Connections.UNKNOWN);
        add(chosen, rest, count, traits.connections());
        return chosen.stream().sorted(Gpu.ORDER).toList();
    }

    private void add(List<Gpu> chosen, List<Gpu> some, int count, Connections connections) {
        if (chosen.size() < count) {
            List<Gpu> from = new ArrayList<>(chosen);
            some.stream()
                    .filter(gpu -> !chosen.contains(gpu))
                    .sorted(preference())
                    .forEach(from::add);
            List<Gpu> best = BestSet.of(from, chosen.size(), count, free(), connections);
            chosen.clear();
            chosen.addAll(best);
        }
    }

    private Impossible nothingUsable() {
        if (gpus.isEmpty()) {
            return new NoGpu();
        }
        return gpus.stream()
                .flatMap(gpu -> cordoned(gpu).stream())
                .findFirst()
                .orElseGet(() -> new Sick(gpus.getFirst()));
    }

    private Optional<Impossible> cordoned(Gpu gpu) {
        return gpu.isSound()
                ? cordons.of(gpu).map(cordon -> new Cordoned(gpu, cordon, free()))
                : Optional.empty();
    }

    private Outcome these(GpuRequest request, List<Gpu> wanted, List<Gpu> busy) {
        return nameless(wanted)
                .or(() -> wanted.stream().flatMap(gpu -> cordoned(gpu).stream()).findFirst())
                .map(Outcome.class::cast)
                .orElseGet(() -> busy.isEmpty() ? new Chosen(wanted) : taken(request, busy));
    }

    private Outcome count(GpuRequest.Count request) {
        if (usable.isEmpty()) {
            return nothingUsable();
        }
        GpuFilter filter = request.filter();
        List<Gpu> matching = traits.matching(filter, usable);
        if (request.gpus() > matching.size()) {
            return tooFew(request, matching.size());
        }
        List<Gpu> busy = matching.stream().filter(gpu -> isBusy(gpu, filter.share())).toList();
        List<Gpu> free = matching.stream().filter(gpu -> !busy.contains(gpu)).toList();
        if (free.size() < request.gpus()) {
            return taken(request, busy, free);
        }
        List<Gpu> chosen = best(free, request.gpus(), filter.share());
        return nameless(chosen)
                .map(Outcome.class::cast)
                .orElseGet(() -> new Chosen(chosen, Optional.empty(), shares(filter, chosen)));
    }

    private Map<String, Share> shares(GpuFilter filter, List<Gpu> chosen) {
        Map<String, Share> shares = new HashMap<>();
        chosen.forEach(
                gpu -> traits.share(filter, gpu).ifPresent(share -> shares.put(gpu.uuid(), share)));
        return shares;
    }

    /**
     * The best among those that the user has booked, if these are enough, else among those that
     * nobody else has booked for later, else among all.
     *
     * @param some of the free ones
     * @param share how much of each is requested; empty for whole ones
     */
    private List<Gpu> best(List<Gpu> some, int count, Optional<MemorySize> share) {
        List<Gpu> own = some.stream().filter(gpu -> rights.own().contains(gpu.uuid())).toList();
        List<Gpu> unbooked =
                some.stream().filter(gpu -> !rights.later().contains(gpu.uuid())).toList();
        List<Gpu> from = own.size() >= count ? own : unbooked.size() >= count ? unbooked : some;
        return share.isPresent() ? fullest(from, count) : bestOf(from, count);
    }

    /** Those that are shared already and have the least left, then free ones, in order of index. */
    private List<Gpu> fullest(List<Gpu> some, int count) {
        return some.stream()
                .sorted(
                        Comparator.comparing(this::isShared)
                                .reversed()
                                .thenComparingLong(gpu -> isShared(gpu) ? left(gpu) : 0)
                                .thenComparing(preference()))
                .limit(count)
                .sorted(Gpu.ORDER)
                .toList();
    }

    /**
     * The best connected, and among equals the ones idle longest, in order of index. Those that may
     * be shared come after all others. MIG instances after whole GPUs, and those without a UUID,
     * which nobody can hold, are the last.
     *
     * @param some of the free ones
     */
    private List<Gpu> bestOf(List<Gpu> some, int count) {
        List<Gpu> whole =
                some.stream()
                        .filter(gpu -> gpu.hasUuid() && gpu.part().isEmpty())
                        .sorted(preference())
                        .toList();
        if (whole.size() < count) {
            return some.stream()
                    .sorted(
                            Comparator.comparing(Gpu::hasUuid)
                                    .reversed()
                                    .thenComparing(preference()))
                    .limit(count)
                    .sorted(Gpu.ORDER)
                    .toList();
        }
        List<Gpu> unshared = unshared(whole);
        boolean isEnough = unshared.size() >= count;
        return BestSet.of(
                        isEnough ? unshared : whole,
                        isEnough ? 0 : unshared.size(),
                        count,
                        free(),
                        traits.connections())
                .stream()
                .sorted(Gpu.ORDER)
                .toList();
    }

    /** Those that may not be shared, which whole requests take before others. */
    private List<Gpu> unshared(List<Gpu> some) {
        return some.stream().filter(gpu -> traits.shareLimit(gpu) == 0).toList();
    }

    private Comparator<Gpu> preference() {
        return Comparator.comparing((Gpu gpu) -> gpu.part().isPresent())
                .thenComparing(gpu -> traits.shareLimit(gpu) > 0)
                .thenComparing(this::idleSince)
                .thenComparing(Gpu.ORDER);
    }

    /** A GPU that cannot be held, since nothing says which it is. */
    private static Optional<Impossible> nameless(List<Gpu> wanted) {
        return wanted.stream()
                .filter(gpu -> !gpu.isSound() || !gpu.hasUuid())
                .findFirst()
                .map(gpu -> gpu.isSound() ? new Nameless(gpu) : new Sick(gpu));
    }

    private Impossible tooFew(GpuRequest.Count requested, int usableOfIt) {
        List<Gpu> unclear = traits.unclear(requested.filter(), usable);
        if (!unclear.isEmpty()) {
            return new Unclear(requested, unclear);
        }
        List<Gpu> matching = traits.matching(requested.filter(), gpus);
        if (requested.filter().share().isPresent() && matching.size() < requested.gpus()) {
            Map<Gpu, Long> limits = new LinkedHashMap<>();
            gpus.stream()
                    .filter(gpu -> traits.shareLimit(gpu) > 0)
                    .forEach(gpu -> limits.put(gpu, traits.shareLimit(gpu)));
            return new NotShared(requested, limits);
        }
        Map<Gpu, Cordon> cordoned = new LinkedHashMap<>();
        for (Gpu gpu : matching) {
            if (gpu.isSound()) {
                cordons.of(gpu).ifPresent(cordon -> cordoned.put(gpu, cordon));
            }
        }
        List<Gpu> sick = matching.stream().filter(gpu -> !gpu.isSound()).toList();
        return new TooFew(requested, usableOfIt, sick, cordoned);
    }

    private Taken taken(GpuRequest request, List<Gpu> busy) {
        return taken(request, busy, free());
    }

    /**
     * @param free of those that are requested, if it does not matter which
     */
    private Taken taken(GpuRequest request, List<Gpu> busy, List<Gpu> free) {
        List<Lease> leases =
                busy.stream()
                        .flatMap(gpu ->
                                Stream.concat(
                                        isShared(gpu)
                                                ? holdings.holders(gpu).stream()
                                                : holdings.of(gpu).stream(),
                                        holdings.opening(gpu).stream()))
                        .distinct()
                        .toList();
        Map<String, Kept> reasons = new HashMap<>(rights.barred());
        reasons.putAll(kept);
        return new Taken(
                request,
                busy.stream().map(ClaimedGpu::of).toList(),
                leases,
                unmanaged,
                Map.copyOf(reasons),
                free);
    }

    private List<Gpu> free() {
        return free(usable);
    }

    private List<Gpu> free(List<Gpu> some) {
        return some.stream().filter(gpu -> !isBusy(gpu)).toList();
    }

    private List<Gpu> busyAmong(List<Gpu> some) {
        return some.stream().filter(this::isBusy).toList();
    }

    private boolean isFreeFor(GpuRequest request, Gpu gpu) {
        boolean anyway = unmanaged.allowed() && request instanceof GpuRequest.Devices;
        return usable.contains(gpu)
                && !(anyway ? isHeld(gpu) || isKept(gpu) : isBusy(gpu, share(request)));
    }

    private boolean isBusy(Gpu gpu) {
        return isBusy(gpu, Optional.empty());
    }

    /** Whether a GPU, or a share of it, cannot be given now. */
    private boolean isBusy(Gpu gpu, Optional<MemorySize> share) {
        boolean held =
                share.isPresent() && (isShared(gpu) || !isHeld(gpu))
                        ? left(gpu) < share.get().bytes() || !holdings.opening(gpu).isEmpty()
                        : isHeld(gpu);
        return held || isKept(gpu) || !unmanaged.of(gpu).isEmpty();
    }

    private boolean isKept(Gpu gpu) {
        return kept.containsKey(gpu.uuid()) || rights.barred().containsKey(gpu.uuid());
    }

    private boolean isShared(Gpu gpu) {
        return !holdings.shares(gpu.uuid()).isEmpty();
    }

    /** How many bytes of a GPU that is not held whole may be given as shares. */
    private long left(Gpu gpu) {
        return traits.shareLimit(gpu) - Share.sum(holdings.shares(gpu.uuid()));
    }

    private boolean isHeld(Gpu gpu) {
        return holdings.of(gpu).isPresent();
    }

    private Instant idleSince(Gpu gpu) {
        return holdings.idleSince().getOrDefault(gpu.uuid(), Instant.MIN);
    }
}
