package jnvdocker.grant;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.Pace;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Ticket;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The clients that wait for GPUs, those of users with a higher priority first, then first come,
 * first served: none takes a GPU that one before it waits for. So a client that wants many GPUs is
 * not passed for ever by those of its priority that want few. A place outlives the daemon: its
 * client repeats its request, and still has it. A pod has a place, too: the GPUs are kept until its
 * kubelet requests them again.
 *
 * <p>Readers of the queue find it as it was last seen; one thread checks for all of them which
 * clients live, and never while anybody waits for it.
 */
public final class WaitingQueue {
    /** The time within which clients of the daemon before this one repeat their requests. */
    private static final Duration RETURN = Duration.ofSeconds(15);

    /** A client that is still there when its time is up is stopped, and keeps nobody waiting. */
    private static final Duration LATE = Duration.ofSeconds(1);

    /** More than any lab has at a time; each has a connection and a message now and then. */
    public static final int MOST = 256;

    /** The last places: for clients with root's rights alone. */
    private static final int ROOTS = 16;

    /** The places before those: for users without a place, and for root. */
    private static final int NEWCOMERS = 48;

    private static final Comparator<Place> ORDER =
            Comparator.comparing(Place::ticket, Ticket.ORDER);

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Supplier<LeasePolicy> policy;
    private final Pace pace;
    private final long opened;

    /** The places in order; the list is replaced when a client comes or goes. */
    private volatile List<Place> places;

    /** Those that are to have a place, which is being written. */
    private final Set<Request> entering = Collections.newSetFromMap(new IdentityHashMap<>());

    private WaitingQueue(
            LeaseRegistry registry,
            Evidence evidence,
            Supplier<LeasePolicy> policy,
            Pace pace,
            List<Place> places) {
        this.registry = registry;
        this.evidence = evidence;
        this.policy = policy;
        this.pace = pace;
        this.places = List.copyOf(places);
        opened = pace.nanos();
    }

    /** Opens it with those places of an earlier daemon's queue that have live clients. */
    public static WaitingQueue open(
            LeaseRegistry registry, Evidence evidence, Supplier<LeasePolicy> policy, Pace pace)
            throws IOException {
        List<Ticket> tickets = registry.tickets();
        Instant boot = registry.bootBegan();
        List<Place> places = tickets.stream().map(ticket -> Place.absent(ticket, boot)).toList();
        WaitingQueue queue = new WaitingQueue(registry, evidence, policy, pace, places);
        queue.dropDead(places);
        return queue;
    }

    /**
     * Takes the place that this client has, else the last of its priority.
     *
     * @param byRoot whether the client has root's rights, whoever its user is
     * @param limit how long the client waits
     * @throws RefusedException when its user has reached the limit
     */
    public Place enter(Request request, boolean byRoot, int priority, Optional<Duration> limit)
            throws RefusedException, IOException {
        begin(request, byRoot || isRoot(request));
        try {
            return enterCounted(request, priority, limit);
        } finally {
            end(request);
        }
    }

    /**
     * Gives a pod a place, unless the pod has one or the queue is full. Its GPUs are kept for it,
     * but are not given to it here: its kubelet requests them again.
     *
     * @param request whose client is the oldest process of the pod
     */
    public void keepPlace(Request request) throws IOException {
        synchronized (this) {
            boolean enters = entering.stream().anyMatch(it -> it.client().equals(request.client()));
            List<Request> now = now();
            int most = most(request, isRoot(request), now);
            if (enters || has(request.client()) || now.size() >= most) {
                return;
            }
            entering.add(request);
        }
        try {
            Ticket ticket = registry.addTicket(request, 0);
            add(Place.absent(ticket, registry.bootBegan()));
        } finally {
            end(request);
        }
        registry.changes().add();
    }

    private synchronized void add(Place place) {
        List<Place> now = new ArrayList<>(places);
        now.add(place);
        now.sort(ORDER);
        places = List.copyOf(now);
    }

    /** Gives up the place of a client or pod, if it has one for this request. */
    public void leave(Request request) throws IOException {
        for (Place place : places) {
            Request its = place.ticket().request();
            if (its.client().equals(request.client())
                    && its.requested().request().equals(request.requested().request())) {
                leave(place);
            }
        }
    }

    /** The tickets that come before that of a client; all if it has none. */
    public List<Ticket> before(ProcessId client) {
        return all().stream()
                .takeWhile(ticket -> !ticket.request().client().equals(client))
                .toList();
    }

    /** Counts a client among those that wait, before that is written: many may come at once. */
    private synchronized void begin(Request request, boolean byRoot) throws RefusedException {
        if (!has(request.client())) {
            refuseTooMany(request, byRoot);
            entering.add(request);
        }
    }

    private synchronized void end(Request request) {
        entering.remove(request);
    }

    private Place enterCounted(Request request, int priority, Optional<Duration> limit)
            throws IOException {
        Ticket ticket = registry.addTicket(request, priority);
        // It may have waited for the daemon before this one.
        Duration before = Duration.between(ticket.since(), registry.now());
        long began = pace.nanos() - (before.isNegative() ? 0 : before.toNanos());
        long late = limit.map(it -> began + it.plus(LATE).toNanos()).orElse(Long.MAX_VALUE);
        Place place = Place.of(ticket, registry.bootBegan(), began, late);
        Optional<Place> replaced;
        synchronized (this) {
            end(request);
            replaced = remove(ticket.id());
            add(place);
        }
        replaced.ifPresent(it -> it.close());
        registry.changes().add();
        return place;
    }

    private void refuseTooMany(Request request, boolean byRoot) throws RefusedException {
        Owner owner = request.requested().owner();
        List<Request> now = now();
        if (now.size() >= most(request, byRoot, now)) {
            throw new RefusedException(
                    now.size()
                            + " clients already wait for GPUs, the maximum"
                            + (now.size() < MOST - ROOTS ? " for a user who has a place" : ""),
                    "try again later ('jnvdocker gpu queue' shows them)");
        }
        long waiting =
                now.stream()
                        .filter(its -> !its.origin().isScheduled())
                        .filter(its -> its.requested().owner().isSameAs(owner))
                        .count();
        if (!byRoot
                && !request.origin().isScheduled()
                && waiting >= policy.get().maxWaitsPerUser()) {
            throw new RefusedException(
                    Quote.shown(owner.name())
                            + " already has "
                            + waiting
                            + (waiting == 1 ? " waiting client" : " waiting clients")
                            + ", the limit per user (max_waits_per_user)",
                    "start this when one of them has been served, or end one ('jnvdocker gpu"
                            + " queue' shows their pids)");
        }
    }

    /** The requests of all places, with those of places that are being written. */
    private List<Request> now() {
        return Stream.concat(
                        places.stream().map(place -> place.ticket().request()), entering.stream())
                .toList();
    }

    /**
     * How many places there may be before this one: whatever users do, root has a place, and so has
     * a user who has none.
     */
    private static int most(Request request, boolean byRoot, List<Request> now) {
        if (byRoot) {
            return MOST;
        }
        Owner owner = request.requested().owner();
        boolean has = now.stream().anyMatch(its -> its.requested().owner().isSameAs(owner));
        return MOST - ROOTS - (has ? NEWCOMERS : 0);
    }

    private static boolean isRoot(Request request) {
        return request.requested().owner().uid() == 0;
    }

    private Optional<Place> remove(long id) {
        Optional<Place> found = places.stream().filter(place -> place.id() == id).findFirst();
        found.ifPresent(it -> places = places.stream().filter(place -> place.id() != id).toList());
        return found;
    }

    /** Gives a place up, unless its client has taken it again. */
    void leave(Place place) throws IOException {
        boolean its;
        synchronized (this) {
            its = places.contains(place);
            if (its) {
                remove(place.id());
            }
        }
        if (its) {
            registry.removeTicket(place.id());
            registry.changes().add();
        }
    }

    /**
     * The client of a place can no longer be notified. If the client has ended, so has its place;
     * else it may repeat its request, and still has the place.
     */
    public void lose(Place place) throws IOException {
        if (!evidence.isAlive(place.ticket().request().client())) {
            leave(place);
            return;
        }
        synchronized (this) {
            if (places.contains(place)) {
                List<Place> now = new ArrayList<>(places);
                now.replaceAll(it -> it == place ? it.absent() : it);
                places = List.copyOf(now);
            }
        }
        registry.changes().add();
    }

    /** Whether a client has a place, if only one of an earlier daemon's queue. */
    boolean has(ProcessId client) {
        return places.stream().anyMatch(place -> place.ticket().request().client().equals(client));
    }

    /** Whether nobody has a place at all. */
    boolean isEmpty() {
        return places.isEmpty();
    }

    /**
     * The clients that wait and have been given nothing yet, in order: those that have sent their
     * requests to this daemon, and those that still may. A client that does neither would keep
     * everybody else waiting. A pod has its place for as long as it lives.
     */
    public List<Place> places() {
        long now = pace.nanos();
        boolean mayReturn = now - opened < RETURN.toNanos();
        Instant boot = registry.bootBegan();
        places.forEach(place -> place.follow(boot));
        return places.stream()
                .filter(place ->
                        place.isPresent() ? place.isOpen() : mayReturn || place.isRequestedAgain())
                .filter(place -> !place.isOverdue(now))
                .toList();
    }

    /** The tickets for which GPUs may be kept: their clients are not stopped. */
    public List<Ticket> all() {
        return places().stream().filter(place -> !place.isStopped()).map(Place::ticket).toList();
    }

    /**
     * The tickets that come before a request without one.
     *
     * @param priority of the request
     */
    public List<Ticket> before(int priority) {
        return all().stream().filter(ticket -> ticket.priority() >= priority).toList();
    }

    /** Checks whether waiting clients are there and not stopped. */
    public void checkClients() throws IOException {
        dropDead(places);
    }

    /**
     * Gives up the places of those among these clients that have ended.
     *
     * @return whether there was any, or one that was stopped or goes on
     */
    boolean forgetTheDead(Collection<Ticket> tickets) throws IOException {
        List<Long> ids = tickets.stream().map(Ticket::id).toList();
        return dropDead(places.stream().filter(place -> ids.contains(place.id())).toList());
    }

    private boolean dropDead(List<Place> those) throws IOException {
        boolean any = false;
        for (Place place : those) {
            if (!evidence.isAlive(place.ticket().request().client())) {
                leave(place);
                place.close();
                any = true;
            } else if (place.setStopped(evidence.isStopped(place.ticket().request().client()))) {
                registry.changes().add();
                any = true;
            }
        }
        return any;
    }
}
