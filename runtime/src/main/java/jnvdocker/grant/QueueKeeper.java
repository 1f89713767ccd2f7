package jnvdocker.grant;

import jnvdocker.decision.DecisionLog;
import jnvdocker.holder.Pace;
import jnvdocker.holder.Periodic;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Booking;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Kept;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Scope;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.posix.FileErrors;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Serves the waiting clients, all in one walk along the queue whenever anything may have changed,
 * so that all of them cost as much as one. The thread of a waiting client only waits for its news.
 */
public final class QueueKeeper {
    /** How often holders are checked for being alive. */
    private static final Duration A_WHILE = Duration.ofMillis(100);

    /** How soon everything is checked again, though nothing is known to have changed. */
    private static final Duration PERIOD = Duration.ofSeconds(1);

    /** The pause after a scan for unmanaged uses, as a multiple of the time that the scan took. */
    private static final int SCAN_SHARE = 50;

    private final Grants grants;
    private final LeaseRegistry registry;
    private final WaitingQueue queue;
    private final Supply supply;
    private final UnmanagedScan unmanagedScan;
    private final Keeper keeper;
    private final Reservations reservations;
    private final Pace pace;
    private final DecisionLog log;

    /** The leases of the GPUs that are waited for. */
    private volatile List<Lease> waitedFor = List.of();

    private Optional<Sight> last = Optional.empty();
    private long changesSeen = -1;
    private long scanned;
    private long swept;

    /** The uses of GPUs without a lease, by the last scan. */
    private List<GpuUse> seen = List.of();

    /** How many leases had been ended by force before it. */
    private long forced;

    private long scannedForUses;
    private long scanCost;

    public QueueKeeper(Grants grants, DecisionLog log) {
        this.grants = grants;
        this.log = log;
        registry = grants.parts().registry();
        queue = grants.parts().queue();
        supply = grants.parts().supply();
        unmanagedScan = grants.parts().unmanagedScan();
        keeper = grants.parts().keeper();
        reservations = grants.parts().reservations();
        pace = grants.parts().pace();
        scanned = pace.nanos() - PERIOD.toNanos();
        scannedForUses = pace.nanos() - PERIOD.toNanos();
        swept = pace.nanos() - PERIOD.toNanos();
    }

    /** All that decides which client is served. As long as it is the same, so is the outcome. */
    private record Sight(
            Supply.Terms terms,
            Map<String, List<Lease>> held,
            Map<String, Instant> idleSince,
            Map<String, Kept> aside,
            List<Booking> booked,
            Map<String, Cordon.ByCommand> cordoned,
            UnmanagedUses unmanaged,
            List<Place> places,
            List<Place> stopped) {}

    /** The periodic work: serves the queue if there may be a reason to. */
    public void tick() throws IOException {
        giveUpStops();
        if (queue.isEmpty()) {
            waitedFor = List.of();
            last = Optional.empty();
            return;
        }
        if (pace.nanos() - swept >= PERIOD.toNanos()) {
            swept = pace.nanos();
            queue.checkClients();
        }
        keeper.wake(waitedFor.stream().filter(lease -> !lease.isOfContainer()).toList());
        long changes = registry.changes().count();
        if (changes != changesSeen || pace.nanos() - scanned >= PERIOD.toNanos()) {
            changesSeen = changes;
            if (pace.nanos() - scanned >= PERIOD.toNanos()) {
                keeper.wake(waitedFor);
            }
            scanned = pace.nanos();
            serve();
        }
    }

    private void serve() throws IOException {
        List<Place> places = queue.places();
        if (grants.isStopped() || places.stream().noneMatch(Place::isPresent)) {
            return;
        }
        Supply.Terms terms;
        try {
            List<Owner> owners = places.stream().map(place -> place.ticket().owner()).toList();
            terms = supply.terms(supply.gpus(), owners, List.of());
        } catch (IOException e) {
            nothingIsThere(places, FileErrors.describe(e));
            return;
        }
        Holdings before = registry.holdings();
        boolean fresh = isScanNeeded(terms, before, places);
        Holdings holdings = fresh ? scanForUses(terms.gpus()) : before;
        // Each walk but the last serves somebody, or finds that something has changed.
        for (int walks = 0; walks <= 2 * terms.gpus().size(); walks++) {
            switch (walk(terms, holdings, fresh)) {
                case SERVED -> holdings = registry.holdings();
                case BLIND -> {
                    fresh = true;
                    holdings = scanForUses(terms.gpus());
                }
                case NOBODY -> {
                    return;
                }
            }
        }
    }

    /** A process that was seen has a lease that is read after that, or none. */
    private Holdings scanForUses(List<Gpu> gpus) throws IOException {
        long begun = pace.nanos();
        forced = keeper.forced();
        seen = unmanagedScan.scan(gpus, UnmanagedScan.LIMIT);
        scannedForUses = pace.nanos();
        scanCost = scannedForUses - begun;
        return registry.holdings();
    }

    /** The result of a walk. */
    private enum Walk {
        /** No client can be served now, and the standings are up to date. */
        NOBODY,
        /** A client was served, or had ended: another walk is needed. */
        SERVED,
        /** A client may be served if a scan for unmanaged uses allows it, too. */
        BLIND
    }

    /**
     * Whether unmanaged uses matter: if a client could be served but for them, and for the texts
     * that people read. While nothing else changes, no more than some percent of the time is spent
     * on them, however many processes there are.
     */
    private boolean isScanNeeded(Supply.Terms terms, Holdings holdings, List<Place> places) {
        long since = pace.nanos() - scannedForUses;
        boolean allHeld = terms.gpus().stream().allMatch(gpu -> holdings.of(gpu).isPresent());
        boolean due = !allHeld && since >= Math.max(PERIOD.toNanos(), SCAN_SHARE * scanCost);
        boolean same =
                last.filter(it ->
                                it.terms().equals(terms)
                                        && it.held().equals(holdings.held())
                                        && it.cordoned().equals(holdings.cordoned())
                                        && it.places().equals(places))
                        .isPresent();
        return due || !same && anybodyMayBeServed(terms, holdings, places);
    }

    /** As if there were no unmanaged use, and no client came before another. */
    private static boolean anybodyMayBeServed(
            Supply.Terms terms, Holdings holdings, List<Place> places) {
        GpuChoice choice = terms.choice(holdings, UnmanagedUses.NONE);
        for (Place place : places) {
            try {
                if (choice.of(place.ticket().requested()) instanceof Outcome.Chosen) {
                    return true;
                }
            } catch (RefusedException e) {
                // Not this one.
            }
        }
        return false;
    }

    /** What does not fit the limits of a stopped container's owner is not kept again later. */
    private void giveUpStops() throws IOException {
        Holdings seen = registry.holdings();
        Set<String> gpus = supply.stopsBeyondLimits(seen);
        if (!gpus.isEmpty()) {
            registry.decide(leases -> {
                Map<String, Holdings.Stopped> now = leases.holdings().stopped();
                gpus.stream()
                        .filter(gpu -> seen.stopped().get(gpu).equals(now.get(gpu)))
                        .forEach(leases::giveUp);
                return null;
            });
        }
    }

    private void nothingIsThere(List<Place> places, String why) {
        last = Optional.empty();
        waitedFor = List.of();
        int number = 0;
        for (Place place : places) {
            place.stand(Place.Standing.passed(++number, why));
        }
    }

    /**
     * Serves the first client that can be served; each client before it, or all if there is none,
     * is given its standing.
     *
     * @param fresh whether a scan for unmanaged uses was just made
     */
    private Walk walk(Supply.Terms terms, Holdings holdings, boolean fresh) throws IOException {
        List<Place> places = queue.places();
        UnmanagedUses unmanaged = unmanagedScan.unmanaged(seen, holdings, terms.rules());
        GpuChoice choice = terms.choice(holdings, unmanaged);
        Sight sight =
                new Sight(
                        terms,
                        holdings.held(),
                        holdings.idleSince(),
                        choice.aside(),
                        holdings.bookedNow(),
                        holdings.cordoned(),
                        unmanaged,
                        places,
                        places.stream().filter(Place::isStopped).toList());
        if (last.equals(Optional.of(sight))) {
            return Walk.NOBODY;
        }
        List<Ticket> before = new ArrayList<>();
        Map<Long, Lease> busy = new TreeMap<>();
        int number = 0;
        for (Place place : places) {
            number++;
            if (place.isStopped()) {
                stopped(place, number);
                continue;
            }
            try {
                switch (choice.of(place.ticket().requested())) {
                    case Outcome.Chosen _ -> {
                        if (place.isPresent() && !fresh) {
                            return Walk.BLIND;
                        }
                        if (place.isPresent()) {
                            give(place, before, new FirstScan(terms.gpus(), forced, () -> seen));
                            return Walk.SERVED;
                        }
                        choice = choice.keeping(place.ticket()).orElse(choice);
                        before.add(place.ticket());
                    }
                    case Outcome.Busy others -> {
                        others.leases().forEach(lease -> busy.put(lease.id(), lease));
                        Optional<GpuChoice> keeping = choice.keeping(place.ticket());
                        place.stand(
                                keeping.isPresent()
                                        ? Place.Standing.inTurn(number, others)
                                        : Place.Standing.passed(
                                                number,
                                                others,
                                                choice.scope(place.ticket().requested())));
                        choice = keeping.orElse(choice);
                        before.add(place.ticket());
                    }
                    case Outcome.Impossible why ->
                            refuse(place, number, Refusals.of(why, Addressee.COMMAND), choice);
                }
            } catch (RefusedException e) {
                refuse(place, number, e.refusal(), choice);
            }
        }
        waitedFor = List.copyOf(busy.values());
        last = Optional.of(sight);
        return Walk.NOBODY;
    }

    private static void stopped(Place place, int number) {
        int pid = place.ticket().request().client().pid();
        String why = "its process is stopped ('kill -CONT " + pid + "' resumes it)";
        place.stand(Place.Standing.passed(number, why));
    }

    /** Unless the configuration forbids it, the obstacles may go away. */
    private static void refuse(Place place, int number, Refusal why, GpuChoice choice) {
        Scope scope = choice.scope(place.ticket().requested());
        if (scope.isForbidden()) {
            place.refuse(why);
        } else {
            place.stand(Place.Standing.passed(number, why, scope));
        }
    }

    private void give(Place place, List<Ticket> before, FirstScan scan)
            throws RefusedException, IOException {
        Ticket ticket = place.ticket();
        if (queue.forgetTheDead(List.of(ticket))
                || !(grants.serve(ticket, before, scan) instanceof Grants.Granted(Lease lease))) {
            return;
        }
        Claim claim = lease.claim();
        if (place.give(lease)) {
            log.served(claim, Duration.between(ticket.since(), claim.created()));
        } else {
            reservations.cancel(claim, "its client no longer waits");
        }
    }

    /** Does all of that by itself, until it is closed. */
    public AutoCloseable start() {
        return new Periodic("queue", () -> queue.isEmpty() ? PERIOD : A_WHILE, this::round)
                .in(pace)
                .after(registry.changes())
                .failing("cannot serve the queue")
                .start();
    }

    private void round() throws IOException {
        long begun = pace.nanos();
        try {
            tick();
        } finally {
            // Of a storm of changes half the time at most is spent on the queue.
            pace.sleep(Duration.ofNanos(pace.nanos() - begun));
        }
    }
}
