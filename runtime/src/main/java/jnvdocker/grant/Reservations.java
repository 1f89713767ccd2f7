package jnvdocker.grant;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Reserves GPUs for clients, at once or when it is their turn. */
final class Reservations {
    private static final Duration ENGINE_LIMIT = Duration.ofSeconds(5);
    private static final Duration A_MOMENT = Duration.ofMillis(50);

    /** For the groups of a user, which the host may have to fetch from elsewhere. */
    static final Duration NAMES_LIMIT = Duration.ofSeconds(2);

    private static final String GONE = "its GPU vanished before it could be used";
    private static final Refusal STOPPED =
            new Refusal(
                    "jnvdocker is being uninstalled from this host, and no longer gives out GPUs",
                    "ask an administrator");

    /**
     * How often a GPU may vanish that was just chosen, or be taken by another and given back,
     * before the next is not taken either.
     */
    private static final int TRIES = 3;

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Cancellation cancellation;
    private final Keeper keeper;
    private final Reconciler reconciler;
    private final WaitingQueue queue;
    private final QueueKeeper queueKeeper;
    private final Supply supply;
    private final UnmanagedScan unmanagedScan;
    private final Pace pace;

    /** Claims that a daemon before this one has reserved GPUs for. */
    private final Set<String> inherited = ConcurrentHashMap.newKeySet();

    private volatile boolean stopped;

    Reservations(
            LeaseRegistry registry,
            ClaimFiles files,
            Cancellation cancellation,
            Keeper keeper,
            Reconciler reconciler,
            WaitingQueue queue,
            QueueKeeper queueKeeper,
            Supply supply,
            UnmanagedScan unmanagedScan,
            Pace pace)
            throws IOException {
        this.registry = registry;
        this.files = files;
        this.cancellation = cancellation;
        this.keeper = keeper;
        this.reconciler = reconciler;
        this.queue = queue;
        this.queueKeeper = queueKeeper;
        this.supply = supply;
        this.unmanagedScan = unmanagedScan;
        this.pace = pace;
        registry.live().stream()
                .filter(Lease::isReservation)
                .forEach(lease -> inherited.add(lease.claim().id()));
    }

    /**
     * Reserves all the GPUs that are requested, until docker mounts the claim's volume or the
     * client ends.
     *
     * @return empty for a request for no GPU
     * @throws RefusedException when they cannot be given; the message names their holders if others
     *     have them
     * @throws IOException when the registry cannot be written
     */
    Optional<Claim> claim(LeaseRequest request) throws RefusedException, IOException {
        refuseWhenStopped();
        if (request.request() instanceof GpuRequest.None) {
            return Optional.empty();
        }
        supply.learn(request.owner(), NAMES_LIMIT);
        refuseTooMuchTime(request);
        if (request.creation().isEmpty()) {
            reconciler.learnOfRunning(ENGINE_LIMIT);
        }
        Optional<Claim> earlier = earlier(request);
        if (request.waiting().isEmpty()) {
            return Optional.of(earlier.isPresent() ? earlier.get() : now(request));
        }
        Waiting waiting = request.waiting().get();
        Optional<Claim> atOnce = earlier.isPresent() ? Optional.empty() : atOnce(request, waiting);
        return Optional.of(atOnce.isPresent() ? atOnce.get() : waitFor(request, waiting, earlier));
    }

    /**
     * The GPUs that this very process has reserved already: it repeats its request, after a daemon
     * that could no longer answer it.
     */
    private Optional<Claim> earlier(LeaseRequest request) throws IOException {
        Optional<Claim> same = Optional.empty();
        if (inherited.isEmpty()) {
            return same;
        }
        for (Lease lease : registry.live()) {
            Claim claim = lease.claim();
            if (lease.isReservation()
                    && lease.holder().process().equals(request.client())
                    && inherited.remove(claim.id())) {
                if (same.isEmpty() && claim.origin().equals(request.origin())) {
                    write(claim);
                    same = Optional.of(claim);
                } else {
                    cancel(claim);
                }
            }
        }
        return same;
    }

    private Claim now(LeaseRequest request) throws RefusedException, IOException {
        int vanished = 0;
        Hope hope = new Hope(request.creation());
        Optional<FirstScan> scan = request.creation().flatMap(LeaseRequest.Creation::scan);
        while (true) {
            Choice choice = new Choice(request, queue.all(), scan);
            scan = Optional.empty();
            switch (reserve(choice)) {
                case Reserved(Claim claim) -> {
                    if (supply.has(claim)) {
                        write(claim);
                        return claim;
                    }
                    cancel(claim, GONE);
                    if (++vanished == TRIES) {
                        throw new RefusedException(
                                LeaseText.vanished(claim.gpus()),
                                "look at 'jnvdocker gpu ls' and at dmesg, then try again");
                    }
                }
                case Missed(GpuChoice.Busy busy) -> {
                    if (!queue.forgetTheDead(choice.keepers()) && !hope.isLeft(busy.leases())) {
                        throw UnavailableException.of(
                                busy, request.creation().isPresent(), keeper.remark(busy.leases()));
                    }
                }
            }
        }
    }

    /**
     * Decides whether a request that does not wait should try once more. It waits for the ends of
     * the holders that it met first; newer holders count a few times only, so that a busy host
     * cannot keep it for ever.
     */
    private final class Hope {
        private final OptionalLong until;
        private OptionalLong newest = OptionalLong.empty();
        private int later;

        /**
         * @param creation that is requested, if any: its engine answers no query about the
         *     container meanwhile, so there is no hope after a while, whatever may come
         */
        Hope(Optional<LeaseRequest.Creation> creation) {
            until =
                    creation.isPresent()
                            ? OptionalLong.of(creation.get().until())
                            : OptionalLong.empty();
        }

        /** For how long the ends of leases may be waited for. */
        private Duration patience() {
            Duration patience = Keeper.Caller.CLIENT.patience;
            if (until.isEmpty()) {
                return patience;
            }
            Duration left = Duration.ofNanos(until.getAsLong() - pace.nanos());
            return left.compareTo(patience) < 0 ? left : patience;
        }

        boolean isLeft(List<Lease> busy) throws IOException {
            Duration patience = patience();
            if (patience.isNegative()) {
                return false;
            }
            if (newest.isEmpty()) {
                newest = busy.stream().mapToLong(Lease::id).max();
            }
            long last = newest.orElse(0);
            List<Lease> first = busy.stream().filter(lease -> lease.id() <= last).toList();
            if (keeper.end(first, patience)) {
                return true;
            }
            List<Lease> others = busy.stream().filter(lease -> lease.id() > last).toList();
            if (later < TRIES && keeper.end(others, Keeper.Caller.WAITER)) {
                later++;
                return true;
            }
            boolean settling = keeper.isSettling(first);
            if (settling) {
                pace.sleep(A_MOMENT);
            }
            return settling;
        }
    }

    /**
     * GPUs that nobody waits for are the waiting client's; empty for one that has a place in the
     * queue. If a second client comes while the first is handled here, either may be the first in
     * the queue.
     */
    private Optional<Claim> atOnce(LeaseRequest request, Waiting waiting)
            throws RefusedException, IOException {
        if (queue.has(request.client())) {
            return Optional.empty();
        }
        refuseTooLong(request, waiting);
        if (reserve(new Choice(request, queue.all())) instanceof Reserved(Claim claim)) {
            if (supply.has(claim)) {
                write(claim);
                return Optional.of(claim);
            }
            cancel(claim, GONE);
        }
        return Optional.empty();
    }

    /** The result of an attempt. */
    private sealed interface Attempt {}

    /** The result of a choice. */
    private sealed interface Reservable extends Attempt {}

    private record Reserved(Claim claim) implements Reservable {}

    /** Others have GPUs that are needed. */
    private record Missed(GpuChoice.Busy busy) implements Reservable {}

    /** The client cannot have the GPUs, whatever leases end. */
    private record Never(Supplier<RefusedException> why) implements Attempt {}

    private Reservable reserve(Choice choice) throws RefusedException, IOException {
        while (true) {
            choice.refresh(registry.holdings());
            Optional<Attempt> done = registry.decide(leases -> attempt(choice, leases));
            if (done.isPresent()) {
                return switch (done.get()) {
                    case Never(Supplier<RefusedException> why) -> throw why.get();
                    case Reservable result -> result;
                };
            }
        }
    }

    /**
     * Empty when the choice must be refreshed first, since others have begun or ended leases
     * meanwhile.
     */
    private Optional<Attempt> attempt(Choice choice, LeaseWriter leases) {
        Holdings holdings = leases.holdings();
        if (stopped) {
            return Optional.of(new Never(() -> new RefusedException(STOPPED)));
        }
        if (!choice.isReadyFor(holdings)) {
            return Optional.empty();
        }
        try {
            return switch (choice.of(holdings)) {
                case GpuChoice.Busy busy -> Optional.of(new Missed(busy));
                case GpuChoice.Impossible why ->
                        Optional.of(new Never(() -> UnavailableException.of(why)));
                case GpuChoice.Chosen(List<Gpu> gpus) -> choice.reserve(gpus, leases);
            };
        } catch (RefusedException e) {
            return Optional.of(new Never(() -> e));
        }
    }

    private void write(Claim claim) throws IOException {
        if (claim.origin().isKnownToDocker()) {
            files.write(claim);
        }
    }

    /**
     * The client keeps the GPUs as the program that it is about to become, for as long as that or
     * anything it starts lives.
     *
     * @throws RefusedException when they are not the client's any more
     * @throws IOException when its children could not be watched
     */
    void becomes(Claim claim, ProcessId client) throws RefusedException, IOException {
        // Should the registry be lost: each of the two shows which GPUs the process has.
        files.write(claim);
        String cgroup;
        try {
            cgroup = ProgramGroup.make(client, claim, files);
        } catch (IOException e) {
            files.delete(claim.id());
            throw e;
        }
        if (!becomes(claim, client, Holder.of(client, cgroup), Optional.empty())) {
            throw new RefusedException(
                    "the reservation of "
                            + LeaseText.command(claim, client)
                            + " was ended before its command began (see 'jnvdocker gpu leases"
                            + " --all')",
                    "try again");
        }
    }

    /**
     * The GPUs that the client has reserved are the Mesos container's, for as long as anything of
     * it lives.
     */
    void becomes(Claim claim, ProcessId client, Claim.ContainerRef container, Holder holder)
            throws RefusedException, IOException {
        if (!becomes(claim, client, holder, Optional.of(container))) {
            throw new RefusedException(
                    "the reservation of "
                            + LeaseText.command(claim, client)
                            + " was ended before it began (see 'jnvdocker gpu leases --all')",
                    "start it again");
        }
    }

    private boolean becomes(
            Claim claim, ProcessId client, Holder holder, Optional<Claim.ContainerRef> container)
            throws IOException {
        return registry.decide(leases -> {
            Optional<Lease> own =
                    leases.live(claim.id())
                            .filter(Lease::isOfClient)
                            .filter(lease -> lease.holder().process().equals(client));
            own.ifPresent(lease -> {
                container.ifPresent(it -> leases.name(claim.id(), it));
                leases.hold(lease, holder);
            });
            return own.isPresent();
        });
    }

    /** In the queue. Its place stays when this daemon is stopped meanwhile. */
    private Claim waitFor(LeaseRequest request, Waiting waiting, Optional<Claim> earlier)
            throws RefusedException, IOException {
        Optional<Rule<Duration>> longest = longestWait(request);
        Optional<Duration> limit = waiting.limit().or(() -> longest.map(Rule::limit));
        Place place = queue.enter(request, limit);
        try {
            Claim claim;
            if (earlier.isPresent()) {
                claim = earlier.get();
            } else {
                // It may have a place of an earlier daemon, which allowed more.
                refuseTooLong(request, waiting);
                claim =
                        new Wait(
                                        request,
                                        waiting,
                                        limit,
                                        place,
                                        longest,
                                        pace,
                                        registry.now(),
                                        new Sight(request, place))
                                .await();
                write(claim);
            }
            queue.leave(place);
            return claim;
        } catch (RefusedException e) {
            takeBack(place);
            queue.leave(place);
            throw e;
        } catch (IOException e) {
            takeBack(place);
            queue.lose(place);
            throw e;
        }
    }

    /** Nobody is there to take what it was given, or that could not be handed over. */
    private void takeBack(Place place) throws IOException {
        Optional<Claim> given = place.close();
        if (given.isPresent()) {
            cancel(given.get());
        }
    }

    /** The part of the queue that a waiting client needs to see. */
    private final class Sight implements Wait.Counter {
        private final LeaseRequest request;
        private final Place place;

        Sight(LeaseRequest request, Place place) {
            this.request = request;
            this.place = place;
        }

        @Override
        public boolean isThere(Claim claim) {
            return supply.has(claim);
        }

        @Override
        public void takeBack(Claim claim) throws IOException {
            cancel(claim, GONE);
        }

        @Override
        public String reason() throws RefusedException, IOException {
            List<Ticket> before =
                    queue.all().stream().filter(other -> other.id() < place.id()).toList();
            Choice choice = new Choice(request, before);
            choice.refresh(registry.holdings());
            return switch (choice.of(registry.holdings())) {
                case GpuChoice.Busy busy -> ChoiceText.reason(busy) + keeper.remark(busy.leases());
                case GpuChoice.Impossible why -> throw UnavailableException.of(why);
                case GpuChoice.Chosen _ -> "the requested GPUs have just been given back";
            };
        }
    }

    private void refuseTooMuchTime(LeaseRequest request) throws RefusedException {
        Optional<Rule<Duration>> longest = supply.allowance(request.owner()).hold();
        boolean restart = request.creation().flatMap(LeaseRequest.Creation::earlier).isPresent();
        if (!restart
                && longest.isPresent()
                && request.time()
                        .filter(it -> it.compareTo(longest.get().limit()) > 0)
                        .isPresent()) {
            throw new RefusedException(
                    Span.spelled(request.time().get())
                            + " requested, but "
                            + TimeText.longestHold(longest.get()),
                    "request a shorter time");
        }
    }

    private Optional<Rule<Duration>> longestWait(LeaseRequest request) {
        return supply.allowance(request.owner()).waits();
    }

    private void refuseTooLong(LeaseRequest request, Waiting waiting) throws RefusedException {
        Optional<Rule<Duration>> longest = longestWait(request);
        if (longest.isPresent()
                && waiting.limit()
                        .filter(it -> it.compareTo(longest.get().limit()) > 0)
                        .isPresent()) {
            throw new RefusedException(
                    TimeText.longestWait(longest.get()), "give --gpu-wait a shorter time, or none");
        }
    }

    /** Refuses claims from now on. Those given before are among the live leases. */
    void stop() {
        stopped = true;
        queueKeeper.stop(STOPPED);
    }

    /** Grants claims again. */
    void resume() {
        stopped = false;
        queueKeeper.resume();
    }

    private void refuseWhenStopped() throws RefusedException {
        if (stopped) {
            throw new RefusedException(STOPPED);
        }
    }

    /** Cancels the reservation of a client that does not become docker. */
    void cancel(Claim claim) throws IOException {
        String what =
                switch (claim.origin()) {
                    case Origin.DockerContainer _ -> "docker";
                    case Origin.HostProcess _ -> "its command";
                    case Origin.MesosTask _, Origin.OciContainer _, Origin.Pod _ -> "it";
                };
        cancel(claim, what + " was not run");
    }

    private void cancel(Claim claim, String why) throws IOException {
        cancellation.of(claim, why);
    }

    /** One choice, made on what the registry holds, as often as that changes. */
    private final class Choice {
        private final LeaseRequest request;
        private final List<Ticket> before;
        private final Supply.Terms terms;
        private Optional<List<GpuUse>> uses = Optional.empty();
        private UnmanagedScan.Seen seen = new UnmanagedScan.Seen(Map.of(), Set.of());
        private Set<Ticket> keepers = Set.of();

        /**
         * @param before the clients that have waited longer
         */
        Choice(LeaseRequest request, List<Ticket> before) throws IOException {
            this(request, before, Optional.empty());
        }

        /**
         * Prepares a choice.
         *
         * @param scan of the host that was begun after the request came, for its first choice
         */
        Choice(LeaseRequest request, List<Ticket> before, Optional<FirstScan> scan)
                throws IOException {
            this.request = request;
            this.before = before;
            List<Gpu> gpus = scan.isPresent() ? scan.get().gpus() : supply.gpus();
            terms = supply.terms(gpus, request.owner(), before);
            if (scan.isPresent()) {
                uses = Optional.of(scan.get().uses());
            } else if (request.waiting().isEmpty()) {
                scan();
            }
        }

        private void scan() throws IOException {
            uses =
                    Optional.of(
                            request.creation().isEmpty()
                                    ? unmanagedScan.scan(terms.gpus(), UnmanagedScan.LIMIT)
                                    : unmanagedScan.scanWithoutEngine(terms.gpus()));
        }

        /**
         * Assigns the uses of the GPUs to leases, and scans for them first if need be. As long as
         * there was no scan and no GPU is free, it does nothing: the client cannot have any yet,
         * whatever uses them.
         */
        void refresh(Holdings holdings) throws IOException {
            if (uses.isEmpty() && isAnyFree(holdings)) {
                scan();
                seen = unmanagedScan.assign(uses.get(), registry.live());
            } else if (uses.isPresent()) {
                seen = unmanagedScan.assign(uses.get(), holdings.held().values());
            }
        }

        private boolean isAnyFree(Holdings holdings) {
            return terms.gpus().stream().anyMatch(gpu -> holdings.of(gpu).isEmpty());
        }

        /** Whether the last assignment of uses to leases still holds, or none is needed. */
        boolean isReadyFor(Holdings holdings) {
            return uses.isPresent() ? seen.isOf(holdings) : !isAnyFree(holdings);
        }

        GpuChoice.Outcome of(Holdings all) throws RefusedException {
            UnmanagedUses unmanaged = terms.unmanaged(seen.uses());
            Optional<Lease> earlier = earlier(all).map(LeaseRequest.Over::lease);
            Holdings holdings = earlier.map(all::without).orElse(all);
            if (earlier.isPresent()) {
                // For waiting clients: these were not given back.
                GpuChoice first = terms.ofRestart().choice(holdings, unmanaged, List.of());
                Optional<GpuChoice.Chosen> same = ofIts(earlier.get(), first);
                if (same.isPresent()) {
                    return same.get();
                }
            }
            GpuChoice choice = terms.choice(holdings, unmanaged, before);
            keepers = choice.keepers();
            Set<String> had = had();
            if (request.request() instanceof GpuRequest.Count count
                    && !had.isEmpty()
                    && outcome(choice, count, had) instanceof GpuChoice.Chosen same) {
                return same;
            }
            return outcome(choice, request.candidates());
        }

        /** Those that it had and may be given. */
        private Set<String> had() {
            Set<String> had = request.creation().map(LeaseRequest.Creation::had).orElse(Set.of());
            return request.candidates().isEmpty()
                    ? had
                    : had.stream()
                            .filter(request.candidates()::contains)
                            .collect(Collectors.toSet());
        }

        /** Those of a lease, if they match the request. */
        private Optional<GpuChoice.Chosen> ofIts(Lease lease, GpuChoice choice)
                throws RefusedException {
            Set<String> its =
                    lease.claim().gpus().stream().map(ClaimedGpu::uuid).collect(Collectors.toSet());
            GpuChoice.Outcome outcome =
                    request.request() instanceof GpuRequest.Count count
                            ? outcome(choice, count, its)
                            : outcome(choice, request.candidates());
            return outcome instanceof GpuChoice.Chosen chosen
                            && chosen.gpus().stream().allMatch(gpu -> its.contains(gpu.uuid()))
                    ? Optional.of(chosen)
                    : Optional.empty();
        }

        /** A choice among those that it had, which met the request, whatever NVML reports. */
        private GpuChoice.Outcome outcome(GpuChoice choice, GpuRequest.Count count, Set<String> had)
                throws RefusedException {
            return choice.of(new GpuRequest.Count(count.gpus()), request.owner(), had);
        }

        private GpuChoice.Outcome outcome(GpuChoice choice, Set<String> candidates)
                throws RefusedException {
            return choice.of(request.request(), request.owner(), candidates);
        }

        /** The clients that come first, and the free GPUs. */
        Set<Ticket> keepers() {
            return keepers;
        }

        /** Empty when the lease that is to end has become another since it was seen. */
        Optional<Attempt> reserve(List<Gpu> chosen, LeaseWriter leases) {
            Optional<LeaseRequest.Over> earlier = earlier(leases.holdings());
            if (earlier.isPresent()
                    && !leases.end(earlier.get().lease(), earlier.get().evidence())) {
                return Optional.empty();
            }
            Claim claim = claim(chosen, leases.holdings());
            leases.add(claim, request.kept(), request.time());
            leases.begin(claim, request.holder(), time(earlier, leases.holdings()));
            return Optional.of(new Reserved(claim));
        }

        /** How long the lease may last: a restart goes on with the time of its last start. */
        private Optional<Duration> time(Optional<LeaseRequest.Over> earlier, Holdings holdings) {
            return earlier.isPresent()
                    ? earlier.get().lease().left(holdings.now())
                    : terms.allowances().of(request.owner()).time(request.time());
        }

        /** The lease that ends when this begins, unless it has been ended meanwhile. */
        private Optional<LeaseRequest.Over> earlier(Holdings holdings) {
            return request.creation()
                    .flatMap(LeaseRequest.Creation::earlier)
                    .filter(over ->
                            holdings.held().values().stream()
                                    .anyMatch(lease -> lease.id() == over.lease().id()));
        }

        private Claim claim(List<Gpu> chosen, Holdings holdings) {
            return new Claim(
                    Claim.newId(),
                    request.origin(),
                    request.owner(),
                    chosen.stream().map(ClaimedGpu::of).toList(),
                    holdings.now(),
                    request.creation().map(LeaseRequest.Creation::container));
        }
    }
}
