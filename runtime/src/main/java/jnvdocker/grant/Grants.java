package jnvdocker.grant;

import jnvdocker.holder.Pace;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.keeper.Keeper;
import jnvdocker.keeper.Patience;
import jnvdocker.lease.Allowances;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.registry.SeenEnd;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The one way to a lease. A request is decided on what the registry holds at one moment, in a
 * transaction; the uses of GPUs are scanned before that, if the decision depends on them. A request
 * that is blocked is decided again when leases have ended, for as long as its {@link Patience}
 * lasts.
 */
public final class Grants {
    private static final Refusal STOPPED =
            new Refusal(
                    "jnvdocker is being uninstalled from this host, and no longer gives out GPUs",
                    "contact an administrator");

    private final LeaseRegistry registry;
    private final Supply supply;
    private final UnmanagedScan unmanagedScan;
    private final Keeper keeper;
    private final Pace pace;
    private volatile boolean stopped;

    public Grants(
            LeaseRegistry registry,
            Supply supply,
            UnmanagedScan unmanagedScan,
            Keeper keeper,
            Pace pace) {
        this.registry = registry;
        this.supply = supply;
        this.unmanagedScan = unmanagedScan;
        this.keeper = keeper;
        this.pace = pace;
    }

    /** The answer to a request. */
    public sealed interface Answer<T> {}

    /** The request was met. */
    public record Granted<T>(T grant) implements Answer<T> {}

    /**
     * The request cannot be met now.
     *
     * @param by the leases that are in its way; empty when other things are
     * @param why its refusal, if nothing of that ends
     */
    public record Blocked<T>(List<Lease> by, Supplier<RefusedException> why) implements Answer<T> {}

    /** The request cannot be met, whichever leases end. */
    public record Refused<T>(Supplier<RefusedException> why) implements Answer<T> {}

    /** A request, with the rules of one moment. */
    public interface Bid<T> {
        /** Whether the decision on these leases depends on the uses of GPUs. */
        boolean needsScan(Holdings holdings);

        /** Scans the uses of the GPUs that the decision depends on. */
        List<GpuUse> scan() throws RefusedException, IOException;

        /**
         * Decides, and begins the lease if the request can be met. Nothing may wait here.
         *
         * @param uses those of no lease, by the UUIDs of the GPUs; none if there was no scan
         * @return empty when the lease that this one is to follow has changed since it was read
         */
        Optional<Answer<T>> decide(LeaseWriter leases, Map<String, List<GpuUse>> uses);
    }

    /** One attempt to meet a request, by the rules of its moment. */
    @FunctionalInterface
    public interface Attempt<T> {
        /** Returns the answer of {@link #decide}. */
        Answer<T> make() throws RefusedException, IOException;
    }

    /**
     * Attempts to meet a request until it is met, is refused, or its patience is over.
     *
     * @throws RefusedException when it is not met
     * @throws IOException when the registry cannot be read or written
     */
    public <T> T take(Attempt<T> attempt, Patience patience) throws RefusedException, IOException {
        while (true) {
            long changes = registry.changes().count();
            switch (attempt.make()) {
                case Granted(T grant) -> {
                    return grant;
                }
                case Refused(Supplier<RefusedException> why) -> throw why.get();
                case Blocked(List<Lease> by, Supplier<RefusedException> why) -> {
                    if (!patience.isWorthAnother(by, changes)) {
                        throw why.get();
                    }
                }
            }
        }
    }

    /**
     * Decides a request once. A scan counts only while each lease that it has assigned a use to is
     * there: the uses are assigned again when one has ended. They are scanned again when one has
     * been ended by force: its holder may have opened its GPUs after the scan.
     */
    public <T> Answer<T> decide(Bid<T> bid) throws RefusedException, IOException {
        long forced = keeper.forced();
        Optional<List<GpuUse>> scanned =
                bid.needsScan(registry.holdings()) ? Optional.of(bid.scan()) : Optional.empty();
        while (true) {
            UnmanagedScan.Seen seen =
                    scanned.isPresent()
                            // Leases are read after a scan: what was seen had one by then, or none.
                            ? unmanagedScan.assign(scanned.get(), registry.live())
                            : new UnmanagedScan.Seen(Map.of(), Set.of());
            boolean blind = scanned.isEmpty();
            long asOf = forced;
            Optional<Answer<T>> answer =
                    registry.decide(leases ->
                            (blind
                                            ? bid.needsScan(leases.holdings())
                                            : keeper.forced() != asOf
                                                    || !seen.isOf(leases.holdings()))
                                    ? Optional.empty()
                                    : bid.decide(leases, seen.uses()));
            if (answer.isPresent()) {
                return answer.get();
            }
            long now = keeper.forced();
            if (blind ? bid.needsScan(registry.holdings()) : now != forced) {
                forced = now;
                scanned = Optional.of(bid.scan());
            }
        }
    }

    /** The outcome of a client's request at this moment. */
    Outcome preview(ClientBid bid) throws RefusedException, IOException {
        Holdings now = registry.holdings();
        return bid.outcome(
                now,
                bid.needsScan(now)
                        ? unmanagedScan.assign(bid.scan(), registry.live()).uses()
                        : Map.of());
    }

    /**
     * Begins the lease of a client's request that GPUs were chosen for, be it at once or from the
     * queue.
     *
     * @param creation of the container that our OCI runtime is to create; empty for all others
     * @return empty when the lease that is to end has become another since it was seen
     */
    Optional<Lease> begin(
            LeaseWriter leases,
            Request request,
            Optional<Creation> creation,
            Outcome.Chosen chosen,
            Allowances allowances) {
        Optional<SeenEnd> end = creation.flatMap(it -> it.earlier(leases.holdings()));
        if (end.isPresent() && !keeper.endAsSeen(leases, end.get())) {
            return Optional.empty();
        }
        Optional<Lease> earlier = end.map(SeenEnd::lease);
        Requested requested = request.requested();
        Holdings holdings = leases.holdings();
        Optional<Lease> beside =
                earlier.filter(past -> past.claim().owner().isSameAs(requested.owner()))
                        .filter(past -> !holdings.beside(past.claim()).isEmpty())
                        .or(chosen::beside);
        ClaimKey key = registry.newKey();
        Claim claim =
                new Claim(
                        key,
                        request.origin(),
                        requested.owner(),
                        chosen.claimed(),
                        holdings.now(),
                        creation.map(Creation::container),
                        beside.map(lease -> lease.claim().party()).orElse(key.id()));
        leases.add(claim, kept(request), requested.time());
        return Optional.of(
                leases.begin(
                        claim,
                        creation.isPresent()
                                ? Holder.created(request.client())
                                : Holder.reserved(request.client()),
                        // A restart goes on with the time of its last start.
                        earlier.isPresent()
                                ? earlier.get().left(holdings.now())
                                : allowances.of(requested.owner()).time(requested.time())));
    }

    /** What was requested, if it is kept for as long as a container of its origin exists. */
    private static Optional<GpuRequest> kept(Request request) {
        return request.origin().runtimeRoot().isPresent()
                ? Optional.of(request.requested().request())
                : Optional.empty();
    }

    Supply supply() {
        return supply;
    }

    UnmanagedScan unmanagedScan() {
        return unmanagedScan;
    }

    Keeper keeper() {
        return keeper;
    }

    /**
     * The patience of a request.
     *
     * @param ends how long the ends of leases are waited for, at each attempt
     * @param until when no further attempt is made, in {@link Pace#nanos}; empty for as long as
     *     leases end
     * @param waits whether to wait for leases that are not about to end
     */
    public Patience patience(Duration ends, Optional<Long> until, Predicate<List<Lease>> waits) {
        return new Patience(keeper, registry.changes(), pace, ends, until, waits);
    }

    /**
     * Refuses new requests from now on, while jnvdocker is uninstalled; the queue is not served.
     */
    void stop() {
        stopped = true;
    }

    /** Grants requests again. */
    void resume() {
        stopped = false;
        registry.changes().add();
    }

    /** Why no client gets GPUs at present; empty if they do. */
    Optional<Refusal> stopped() {
        return stopped ? Optional.of(STOPPED) : Optional.empty();
    }
}
