package jnvdocker.grant;

import jnvdocker.decision.UnavailableException;
import jnvdocker.holder.Pace;
import jnvdocker.holder.ProgramGroup;
import jnvdocker.keeper.Cancellation;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.Supply;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** Reserves GPUs for clients, at once or when it is their turn. */
public final class Reservations {

    private static final String GONE = "its GPU vanished before it could be used";

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Cancellation cancellation;
    private final Keeper keeper;
    private final WaitingQueue queue;
    private final Grants grants;
    private final Supply supply;
    private final Pace pace;

    /** Claims that a daemon before this one has reserved GPUs for. */
    private final Set<String> inherited = ConcurrentHashMap.newKeySet();

    public Reservations(
            LeaseRegistry registry,
            ClaimFiles files,
            Cancellation cancellation,
            Keeper keeper,
            WaitingQueue queue,
            Grants grants,
            Supply supply,
            Pace pace)
            throws IOException {
        this.registry = registry;
        this.files = files;
        this.cancellation = cancellation;
        this.keeper = keeper;
        this.queue = queue;
        this.grants = grants;
        this.supply = supply;
        this.pace = pace;
        registry.live().stream()
                .filter(Lease::isReservation)
                .forEach(lease -> inherited.add(lease.claim().id()));
    }

    /**
     * Reserves all the GPUs that are requested, until docker mounts the claim's volume or the
     * client ends.
     *
     * @param waits for GPUs that are taken; without it, the request is refused
     * @return empty for a request for no GPU
     * @throws RefusedException when they cannot be given; the message names their holders if others
     *     have them
     * @throws IOException when the registry cannot be written
     */
    public Optional<Lease> take(Request request, Optional<Waiting> waits)
            throws RefusedException, IOException {
        return take(request, waits, Optional.empty());
    }

    /** The same for a container that our OCI runtime is to create, which does not wait. */
    public Optional<Lease> take(Request request, Creation creation)
            throws RefusedException, IOException {
        return take(request, Optional.empty(), Optional.of(creation));
    }

    private Optional<Lease> take(
            Request request, Optional<Waiting> waits, Optional<Creation> creation)
            throws RefusedException, IOException {
        refuseWhenStopped();
        Requested requested = request.requested();
        if (requested.request() instanceof GpuRequest.None) {
            return Optional.empty();
        }
        supply.learn(requested.owner(), Supply.NAMES_LIMIT);
        if (creation.flatMap(Creation::earlier).isEmpty()) {
            refuseTooMuchTime(requested);
        }
        Optional<Lease> earlier = earlier(request);
        // For what another holds there is nothing to wait for.
        if (waits.isEmpty() || requested.request() instanceof GpuRequest.With) {
            return Optional.of(
                    earlier.isPresent()
                            ? earlier.get()
                            : now(request, waits.isPresent(), creation));
        }
        Waiting waiting = waits.get();
        Optional<Lease> atOnce = earlier.isPresent() ? Optional.empty() : atOnce(request, waiting);
        return Optional.of(atOnce.isPresent() ? atOnce.get() : waitFor(request, waiting, earlier));
    }

    /**
     * The GPUs that this very process has reserved already: it repeats its request, after a daemon
     * that could no longer answer it.
     */
    private Optional<Lease> earlier(Request request) throws RefusedException, IOException {
        Optional<Lease> same = Optional.empty();
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
                    same = Optional.of(lease);
                } else {
                    cancel(claim);
                }
            }
        }
        return same;
    }

    private Lease now(Request request, boolean waits, Optional<Creation> creation)
            throws RefusedException, IOException {
        ClientBid bid = new ClientBid(grants, request, waits, creation);
        return grants.take(
                () -> attempt(bid, request),
                grants.patience(
                        Keeper.Caller.CLIENT.patience, creation.map(Creation::until), _ -> false));
    }

    private Grants.Answer<Lease> attempt(ClientBid bid, Request request)
            throws RefusedException, IOException {
        while (true) {
            Grants.Answer<Lease> answer = bid.decide(queue.before(rank(request)));
            if (answer instanceof Grants.Blocked && queue.forgetTheDead(bid.keepers())) {
                continue;
            }
            if (!(answer instanceof Grants.Granted(Lease lease)) || isThere(lease)) {
                return answer;
            }
            bid.vanished(lease);
        }
    }

    /** Whether a lease's GPUs have not vanished since they were chosen; it is cancelled if so. */
    private boolean isThere(Lease lease) throws RefusedException, IOException {
        if (supply.has(lease.claim())) {
            write(lease.claim());
            return true;
        }
        cancel(lease.claim(), GONE);
        return false;
    }

    /**
     * GPUs that nobody waits for are the waiting client's; empty for one that has a place in the
     * queue. If a second client comes while the first is handled here, either may be the first in
     * the queue.
     */
    private Optional<Lease> atOnce(Request request, Waiting waiting)
            throws RefusedException, IOException {
        if (queue.has(request.client())) {
            return Optional.empty();
        }
        refuseTooLong(request, waiting);
        ClientBid bid = new ClientBid(grants, request, true, Optional.empty());
        return switch (bid.decide(queue.before(rank(request)))) {
            case Grants.Granted(Lease lease) ->
                    isThere(lease) ? Optional.of(lease) : Optional.empty();
            case Grants.Blocked<Lease> _ -> Optional.empty();
            case Grants.Refused(Supplier<RefusedException> why) -> throw why.get();
        };
    }

    /**
     * Writes the files of a claim that was just made.
     *
     * @throws RefusedException when its reservation was ended meanwhile: when its claim was
     *     forgotten, too, nothing would delete the files
     */
    private void write(Claim claim) throws RefusedException, IOException {
        if (!claim.origin().isKnownToDocker()) {
            return;
        }
        files.write(claim);
        if (registry.liveOf(claim.id()).isEmpty()) {
            files.delete(claim.id());
            throw new RefusedException(
                    "the reservation of claim "
                            + claim.id()
                            + " was ended before it could be used (see 'jnvdocker gpu leases"
                            + " --all')",
                    "try again");
        }
    }

    /**
     * The client keeps the GPUs as the program that it is about to become, for as long as that or
     * anything it starts lives.
     *
     * @throws RefusedException when they are not the client's any more
     * @throws IOException when its children could not be watched
     */
    public void becomes(Claim claim, ProcessId client) throws RefusedException, IOException {
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
    public void becomes(Claim claim, ProcessId client, Claim.ContainerRef container, Holder holder)
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
    private Lease waitFor(Request request, Waiting waiting, Optional<Lease> earlier)
            throws RefusedException, IOException {
        Optional<Rule<Duration>> longest = longestWait(request);
        Optional<Duration> limit = waiting.limit().or(() -> longest.map(Rule::limit));
        Place place = queue.enter(request, waiting.byRoot(), rank(request), limit);
        try {
            Lease lease;
            if (earlier.isPresent()) {
                lease = earlier.get();
            } else {
                // It may have a place of an earlier daemon, which allowed more.
                refuseTooLong(request, waiting);
                lease =
                        new Wait(
                                        request,
                                        waiting,
                                        limit,
                                        place,
                                        longest,
                                        pace,
                                        new Sight(request, place))
                                .await();
                write(lease.claim());
            }
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
            cancel(given.get().claim());
        }
    }

    /** The part of the queue that a waiting client needs to see. */
    private final class Sight implements Wait.Counter {
        private final Request request;
        private final Place place;

        Sight(Request request, Place place) {
            this.request = request;
            this.place = place;
        }

        @Override
        public boolean isThere(Lease lease) {
            return supply.has(lease.claim());
        }

        @Override
        public void takeBack(Lease lease) throws IOException {
            cancel(lease.claim(), GONE);
        }

        @Override
        public String reason() throws RefusedException, IOException {
            List<Ticket> before =
                    queue.all().stream()
                            .filter(other -> Ticket.ORDER.compare(other, place.ticket()) < 0)
                            .toList();
            ClientBid bid = new ClientBid(grants, request, true, Optional.empty());
            return switch (bid.preview(before)) {
                case Outcome.Busy busy ->
                        ChoiceText.reasonToWait(busy) + keeper.remark(busy.leases());
                case Outcome.Impossible why ->
                        throw new UnavailableException(why, Addressee.COMMAND, "");
                case Outcome.Chosen _ -> "the requested GPUs have just been given back";
            };
        }
    }

    private void refuseTooMuchTime(Requested request) throws RefusedException {
        Optional<Rule<Duration>> longest = supply.allowance(request.owner()).hold();
        if (longest.isPresent()
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

    /** The priority of a request: the learnt limits of its owner say it. */
    private int rank(Request request) {
        return supply.allowance(request.requested().owner()).rank();
    }

    private Optional<Rule<Duration>> longestWait(Request request) {
        return supply.allowance(request.requested().owner()).waits();
    }

    private void refuseTooLong(Request request, Waiting waiting) throws RefusedException {
        Optional<Rule<Duration>> longest = longestWait(request);
        if (longest.isPresent()
                && waiting.limit()
                        .filter(it -> it.compareTo(longest.get().limit()) > 0)
                        .isPresent()) {
            throw new RefusedException(
                    TimeText.longestWait(longest.get()),
                    "give " + waiting.source() + " a shorter time, or none");
        }
    }

    /** Refuses claims from now on, but not those of clients that wait already. */
    public void stop() {
        grants.stop();
    }

    /** Grants claims again. */
    public void resume() {
        grants.resume();
    }

    /** Refuses the clients that wait, once claims have been stopped for good. */
    public void refuseWaiting() {
        grants.stopped().ifPresent(why -> queue.places().forEach(place -> place.refuse(why)));
    }

    private void refuseWhenStopped() throws RefusedException {
        if (grants.stopped().isPresent()) {
            throw new RefusedException(grants.stopped().get());
        }
    }

    /** Cancels the reservation of a client that does not become docker. */
    public void cancel(Claim claim) throws IOException {
        String what =
                switch (claim.origin().kind()) {
                    case ENGINE -> "docker";
                    case PROCESS -> "its command";
                    case MESOS, OCI, POD -> "it";
                };
        cancel(claim, what + " was not run");
    }

    private void cancel(Claim claim, String why) throws IOException {
        cancellation.of(claim, why);
    }
}
