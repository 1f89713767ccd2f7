package jnvdocker.grant;

import jnvdocker.decision.UnavailableException;
import jnvdocker.holder.Pace;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.keeper.Patience;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.Addressee;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;
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

    private final Parts parts;
    private final LeaseRegistry registry;
    private final Keeper keeper;
    private volatile boolean stopped;

    public Grants(Parts parts) {
        this.parts = parts;
        registry = parts.registry();
        keeper = parts.keeper();
    }

    /** What requests are decided with. */
    public record Parts(
            LeaseRegistry registry,
            Supply supply,
            UnmanagedScan unmanagedScan,
            Keeper keeper,
            WaitingQueue queue,
            Reservations reservations,
            Pace pace) {}

    public Parts parts() {
        return parts;
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
         * @throws RefusedException before anything is written
         */
        Optional<Answer<T>> decide(LeaseWriter leases, Map<String, List<GpuUse>> uses)
                throws RefusedException;
    }

    /** One attempt to meet a request, by the rules of its moment. */
    @FunctionalInterface
    public interface Attempt<T> {
        /** Returns the answer of {@link #decide}. */
        Answer<T> make() throws RefusedException, IOException;
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
        return new OpenRequest(this, request, waits.isPresent(), Optional.empty(), Optional.empty())
                .take(waits);
    }

    /** The same for a container that our OCI runtime is to create, which does not wait. */
    public Optional<Lease> take(Request request, Creation creation)
            throws RefusedException, IOException {
        return new OpenRequest(this, request, false, Optional.of(creation), creation.scan())
                .take(Optional.empty());
    }

    /**
     * The GPUs that a request would be given at a moment.
     *
     * @param gpus none if it would be refused
     * @param free how many GPUs nobody has, and are kept for nobody else
     * @param refusal of the request; empty if it would be met
     */
    public record Offer(List<Gpu> gpus, int free, Optional<RefusedException> refusal) {}

    /** Decides a request of one that does not wait, without a lease. */
    public Offer offer(GpuRequest request, Owner owner) throws IOException {
        keeper.endReservations();
        List<Gpu> gpus = parts.supply().gpus();
        List<GpuUse> seen = parts.unmanagedScan().scan(gpus, UnmanagedScan.LIMIT);
        Holdings holdings = registry.holdings();
        List<Ticket> before = parts.queue().before(parts.supply().allowance(owner).rank());
        Supply.Terms terms = parts.supply().terms(gpus, List.of(owner), before);
        UnmanagedUses unmanaged = parts.unmanagedScan().unmanaged(seen, holdings, terms.rules());
        GpuChoice choice = terms.choice(holdings, unmanaged);
        int free =
                (int)
                        choice.verdicts().stream()
                                .filter(Verdict::isFree)
                                .filter(verdict -> !verdict.is(Verdict.NotAllowed.class))
                                .count();
        try {
            return switch (choice.of(new Requested(request, owner))) {
                case Outcome.Chosen chosen -> new Offer(chosen.gpus(), free, Optional.empty());
                case Outcome.Unmet why ->
                        throw new UnavailableException(
                                why, Addressee.COMMAND, parts.keeper().remark(why.leases()));
            };
        } catch (RefusedException e) {
            return new Offer(List.of(), free, Optional.of(e));
        }
    }

    /**
     * Decides the request of a client whose turn has come.
     *
     * @param before the clients for which GPUs are kept
     * @param scan that was made when its turn had come
     */
    Answer<Lease> serve(Ticket ticket, List<Ticket> before, FirstScan scan)
            throws RefusedException, IOException {
        return new OpenRequest(this, ticket.request(), true, Optional.empty(), Optional.of(scan))
                .decide(before);
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
                            ? parts.unmanagedScan().assign(scanned.get(), registry.live())
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
                                    : decide(bid, leases, seen.uses()));
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

    private static <T> Optional<Answer<T>> decide(
            Bid<T> bid, LeaseWriter leases, Map<String, List<GpuUse>> uses) {
        try {
            return bid.decide(leases, uses);
        } catch (RefusedException e) {
            return Optional.of(new Refused<>(() -> e));
        }
    }

    /**
     * The answer to a request that is not met: whatever others have may come free.
     *
     * @param by the leases whose ends are waited for
     */
    public static <T> Answer<T> unmet(
            Outcome.Unmet why, List<Lease> by, Supplier<RefusedException> words) {
        return why instanceof Outcome.Impossible ? new Refused<>(words) : new Blocked<>(by, words);
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
        return new Patience(keeper, registry.changes(), parts.pace(), ends, until, waits);
    }

    /**
     * Refuses requests from now on, but not those of clients that wait already: the queue is not
     * served.
     */
    public void stop() {
        stopped = true;
    }

    /** Grants requests again. */
    public void resume() {
        stopped = false;
        registry.changes().add();
    }

    /** Refuses the clients that wait, once requests are refused for good. */
    public void refuseWaiting() {
        if (stopped) {
            parts.queue().places().forEach(place -> place.refuse(STOPPED));
        }
    }

    /** Whether no client gets GPUs at present. */
    boolean isStopped() {
        return stopped;
    }

    void refuseWhenStopped() throws RefusedException {
        if (stopped) {
            throw new RefusedException(STOPPED);
        }
    }
}
