package jnvdocker.grant;

import jnvdocker.decision.UnavailableException;
import jnvdocker.holder.Pace;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Allowance;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.registry.SeenEnd;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/** A request of a client, until it has its lease or is refused: at once, or when its turn comes. */
final class OpenRequest implements Grants.Bid<Lease> {
    private static final String GONE = "its GPU vanished before it could be used";

    /** How often a GPU may vanish that was just chosen before the request is refused. */
    private static final int TRIES = 3;

    private final Grants grants;
    private final Grants.Parts parts;
    private final Request request;
    private final Requested requested;
    private final boolean waits;
    private final Optional<Creation> creation;

    /** The scan that was begun before, until it is used. */
    private Optional<FirstScan> first;

    private Supply.Terms terms;
    private Set<Ticket> keepers = Set.of();
    private int vanished;

    /**
     * @param waits whether its client waits while it cannot be met
     * @param creation of the container that our OCI runtime is to create; empty for all others
     * @param first a scan that was begun before
     */
    OpenRequest(
            Grants grants,
            Request request,
            boolean waits,
            Optional<Creation> creation,
            Optional<FirstScan> first) {
        this.grants = grants;
        this.request = request;
        this.waits = waits;
        this.creation = creation;
        this.first = first;
        parts = grants.parts();
        requested = request.requested();
    }

    /** Returns the lease; empty for a request for no GPU. */
    Optional<Lease> take(Optional<Waiting> waiting) throws RefusedException, IOException {
        try {
            return takeOrWait(waiting);
        } catch (RefusedException e) {
            // It may have a place of an earlier daemon, whose rules have changed since.
            if (waiting.isPresent()) {
                parts.queue().leave(request);
            }
            throw e;
        }
    }

    private Optional<Lease> takeOrWait(Optional<Waiting> waiting)
            throws RefusedException, IOException {
        grants.refuseWhenStopped();
        if (requested.request() instanceof GpuRequest.None) {
            return Optional.empty();
        }
        parts.supply().learn(requested.owner(), Supply.NAMES_LIMIT);
        if (creation.flatMap(Creation::earlier).isEmpty()) {
            refuseTooMuchTime();
        }
        Optional<Lease> earlier = parts.reservations().earlier(request);
        // For what another holds there is nothing to wait for.
        if (waiting.isEmpty() || requested.request() instanceof GpuRequest.With) {
            return Optional.of(earlier.isPresent() ? earlier.get() : now());
        }
        if (earlier.isPresent()) {
            parts.queue().leave(request);
            return earlier;
        }
        if (!parts.queue().has(request.client())) {
            Optional<Lease> atOnce = atOnce(waiting.get());
            if (atOnce.isPresent()) {
                return atOnce;
            }
            waiting.get().trial().run();
        }
        return Optional.of(waitFor(waiting.get()));
    }

    private Lease now() throws RefusedException, IOException {
        return grants.take(
                this::attempt,
                grants.patience(
                        Keeper.Caller.CLIENT.patience, creation.map(Creation::until), _ -> false));
    }

    private Grants.Answer<Lease> attempt() throws RefusedException, IOException {
        while (true) {
            Grants.Answer<Lease> answer = decide(parts.queue().before(allowance().rank()));
            if (answer instanceof Grants.Blocked && parts.queue().forgetTheDead(keepers)) {
                continue;
            }
            if (!(answer instanceof Grants.Granted(Lease lease)) || isThere(lease)) {
                return answer;
            }
            if (++vanished == TRIES) {
                throw new RefusedException(
                        LeaseText.vanished(lease.claim().gpus()),
                        "see 'jnvdocker gpu ls' and dmesg, then try again");
            }
        }
    }

    /**
     * GPUs that nobody waits for are the waiting client's. If a second client comes while the first
     * is handled here, either may be the first in the queue.
     */
    private Optional<Lease> atOnce(Waiting waiting) throws RefusedException, IOException {
        refuseTooLong(waiting);
        return switch (decide(parts.queue().before(allowance().rank()))) {
            case Grants.Granted(Lease lease) ->
                    isThere(lease) ? Optional.of(lease) : Optional.empty();
            case Grants.Blocked<Lease> _ -> Optional.empty();
            case Grants.Refused(Supplier<RefusedException> why) -> throw why.get();
        };
    }

    /** In the queue. Its place stays when this daemon is stopped meanwhile. */
    private Lease waitFor(Waiting waiting) throws RefusedException, IOException {
        WaitingQueue queue = parts.queue();
        Optional<Rule<Duration>> longest = allowance().waits();
        Optional<Duration> limit = waiting.limit().or(() -> longest.map(Rule::limit));
        Place place = queue.enter(request, waiting.byRoot(), allowance().rank(), limit);
        try {
            // It may have a place of an earlier daemon, which allowed more.
            refuseTooLong(waiting);
            Lease lease = new Wait(this, waiting, limit, place, longest, parts.pace()).await();
            queue.leave(place);
            return lease;
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
        Optional<Lease> given = place.close();
        if (given.isPresent()) {
            parts.reservations().cancel(given.get().claim());
        }
    }

    Request request() {
        return request;
    }

    /** Whether a lease's GPUs have not vanished since they were chosen; it is cancelled if so. */
    boolean isThere(Lease lease) throws RefusedException, IOException {
        return isThere(lease, () -> {});
    }

    /**
     * Likewise.
     *
     * @param otherwise what is done before the lease is cancelled, which serves the queue
     */
    boolean isThere(Lease lease, Runnable otherwise) throws RefusedException, IOException {
        if (parts.supply().has(lease.claim())) {
            parts.reservations().write(lease.claim());
            return true;
        }
        otherwise.run();
        parts.reservations().cancel(lease.claim(), GONE);
        return false;
    }

    /** The clients that come before that of a place. */
    List<Ticket> before(Place place) {
        return parts.queue().all().stream()
                .filter(other -> Ticket.ORDER.compare(other, place.ticket()) < 0)
                .toList();
    }

    /**
     * Decides the request once, by the rules of this moment.
     *
     * @param before the clients that come first
     */
    Grants.Answer<Lease> decide(List<Ticket> before) throws RefusedException, IOException {
        read(before);
        return grants.decide(this);
    }

    private void read(List<Ticket> before) throws IOException {
        List<Gpu> gpus = first.isPresent() ? first.get().gpus() : parts.supply().gpus();
        terms = parts.supply().terms(gpus, List.of(requested.owner()), before);
    }

    /**
     * A client that waits cannot have any whole GPU while none is free, whatever uses them; the
     * refusal of one that does not wait names the unmanaged uses.
     */
    @Override
    public boolean needsScan(Holdings holdings) {
        return !waits
                || requested.request() instanceof GpuRequest.Count(_, GpuFilter filter)
                        && filter.share().isPresent()
                || terms.gpus().stream().anyMatch(gpu -> holdings.of(gpu).isEmpty());
    }

    @Override
    public List<GpuUse> scan() throws IOException {
        if (first.isPresent()) {
            FirstScan begun = first.get();
            first = Optional.empty();
            if (begun.forced() == parts.keeper().forced()) {
                return Pace.taken(begun.uses());
            }
        }
        return creation.isEmpty()
                ? parts.unmanagedScan().scan(terms.gpus(), UnmanagedScan.LIMIT)
                : parts.unmanagedScan().scanWithoutEngine(terms.gpus());
    }

    @Override
    public Optional<Grants.Answer<Lease>> decide(LeaseWriter leases, Map<String, List<GpuUse>> uses)
            throws RefusedException {
        grants.refuseWhenStopped();
        return switch (outcome(leases.holdings(), uses)) {
            case Outcome.Chosen chosen -> begin(leases, chosen).map(Grants.Granted::new);
            case Outcome.Unmet why ->
                    Optional.of(Grants.unmet(why, why.leases(), () -> unavailable(why)));
        };
    }

    private UnavailableException unavailable(Outcome.Unmet why) {
        return new UnavailableException(
                why,
                creation.isPresent() ? Addressee.ENGINE : Addressee.COMMAND,
                parts.keeper().remark(why.leases()));
    }

    /**
     * Chooses GPUs.
     *
     * @param uses those of no lease, by the UUIDs of the GPUs
     * @throws RefusedException when the host has no such GPU
     */
    private Outcome outcome(Holdings all, Map<String, List<GpuUse>> uses) throws RefusedException {
        UnmanagedUses unmanaged = terms.unmanaged(uses);
        if (creation.isEmpty()) {
            GpuChoice choice = terms.choice(all, unmanaged);
            keepers = choice.keepers();
            return choice.of(requested);
        }
        Optional<Outcome.Chosen> again = creation.get().again(requested, terms, all, unmanaged);
        if (again.isPresent()) {
            return again.get();
        }
        GpuChoice choice = terms.choice(creation.get().others(all, requested), unmanaged);
        keepers = choice.keepers();
        return creation.get().outcome(requested, choice);
    }

    /** Empty when the lease that is to end has become another since it was seen. */
    private Optional<Lease> begin(LeaseWriter leases, Outcome.Chosen chosen) {
        Optional<SeenEnd> end = creation.flatMap(it -> it.earlier(leases.holdings()));
        Optional<Lease> earlier = end.map(SeenEnd::lease);
        boolean goesOn = earlier.filter(past -> isReservationOf(past, chosen)).isPresent();
        if (end.isPresent() && !goesOn && !parts.keeper().endAsSeen(leases, end.get())) {
            return Optional.empty();
        }
        Claim claim = add(leases, chosen, earlier);
        Holder holder =
                creation.isPresent()
                        ? Holder.created(request.client())
                        : Holder.reserved(request.client());
        if (goesOn) {
            return leases.pass(earlier.get(), claim, holder);
        }
        return Optional.of(
                leases.begin(
                        claim,
                        holder,
                        // A restart goes on with the time of its last start.
                        earlier.isPresent()
                                ? earlier.get().left(leases.holdings().now())
                                : terms.allowances().of(requested.owner()).time(requested.time())));
    }

    /** Whether a lease is the same user's reservation of these very GPUs, for this container. */
    private boolean isReservationOf(Lease past, Outcome.Chosen chosen) {
        return past.isOfClient()
                && past.claim().owner().isSameAs(requested.owner())
                && Set.copyOf(past.claim().gpus()).equals(Set.copyOf(chosen.claimed()));
    }

    /**
     * Makes the claim.
     *
     * @param earlier the lease that the one of this claim follows on
     */
    private Claim add(LeaseWriter leases, Outcome.Chosen chosen, Optional<Lease> earlier) {
        Holdings holdings = leases.holdings();
        Optional<Lease> beside =
                earlier.filter(past -> past.claim().owner().isSameAs(requested.owner()))
                        .filter(past -> !holdings.beside(past.claim()).isEmpty())
                        .or(chosen::beside);
        ClaimKey key = parts.registry().newKey();
        Claim claim =
                new Claim(
                        key,
                        request.origin(),
                        requested.owner(),
                        chosen.claimed(),
                        holdings.now(),
                        creation.map(Creation::container),
                        beside.map(lease -> lease.claim().party()).orElse(key.id()));
        // What was requested is kept for as long as a container of its origin exists.
        boolean kept = request.origin().runtimeRoot().isPresent();
        leases.add(
                claim,
                kept ? Optional.of(requested.request()) : Optional.empty(),
                requested.time());
        return claim;
    }

    /** The learnt limits of the request's owner, which say its priority, too. */
    private Allowance allowance() {
        return parts.supply().allowance(requested.owner());
    }

    private void refuseTooMuchTime() throws RefusedException {
        Optional<Rule<Duration>> longest = allowance().hold();
        if (isLonger(requested.time(), longest)) {
            throw new RefusedException(
                    Span.spelled(requested.time().orElseThrow())
                            + " requested, but "
                            + TimeText.longestHold(longest.orElseThrow()),
                    "request a shorter time");
        }
    }

    private void refuseTooLong(Waiting waiting) throws RefusedException {
        Optional<Rule<Duration>> longest = allowance().waits();
        if (isLonger(waiting.limit(), longest)) {
            throw new RefusedException(
                    TimeText.longestWait(longest.orElseThrow()),
                    "give " + waiting.source() + " a shorter time, or none");
        }
    }

    private static boolean isLonger(Optional<Duration> time, Optional<Rule<Duration>> longest) {
        return longest.isPresent()
                && time.filter(it -> it.compareTo(longest.get().limit()) > 0).isPresent();
    }
}
