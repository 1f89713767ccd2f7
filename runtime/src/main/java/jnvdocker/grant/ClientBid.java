package jnvdocker.grant;

import jnvdocker.decision.UnavailableException;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Request;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.registry.SeenEnd;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The request of a client or of our OCI runtime, decided by the rules and the queue as they are.
 */
final class ClientBid implements Grants.Bid<Lease> {
    /** How often a GPU may vanish that was just chosen before the request is refused. */
    private static final int TRIES = 3;

    private final Grants grants;
    private final Request request;
    private final boolean waits;
    private final Optional<Creation> creation;

    /** The scan that was begun before, until it is used. */
    private Optional<FirstScan> first;

    private List<Ticket> before = List.of();
    private Supply.Terms terms;
    private Set<Ticket> keepers = Set.of();
    private int vanished;

    /**
     * @param waits whether its client waits while it cannot be met
     * @param creation of the container that our OCI runtime is to create; empty for all others
     */
    ClientBid(Grants grants, Request request, boolean waits, Optional<Creation> creation) {
        this.grants = grants;
        this.request = request;
        this.waits = waits;
        this.creation = creation;
        first = creation.flatMap(Creation::scan);
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

    /** What would become of the request at this moment, likewise: no lease begins. */
    Outcome preview(List<Ticket> before) throws RefusedException, IOException {
        read(before);
        return grants.preview(this);
    }

    private void read(List<Ticket> before) throws IOException {
        this.before = before;
        List<Gpu> gpus = first.isPresent() ? first.get().gpus() : grants.supply().gpus();
        terms = grants.supply().terms(gpus, request.requested().owner(), before);
    }

    /**
     * A client that waits cannot have any whole GPU while none is free, whatever uses them; the
     * refusal of one that does not wait names the unmanaged uses.
     */
    @Override
    public boolean needsScan(Holdings holdings) {
        return !waits
                || request.requested().request() instanceof GpuRequest.Count(_, GpuFilter filter)
                        && filter.share().isPresent()
                || terms.gpus().stream().anyMatch(gpu -> holdings.of(gpu).isEmpty());
    }

    @Override
    public List<GpuUse> scan() throws IOException {
        if (first.isPresent()) {
            FirstScan begun = first.get();
            first = Optional.empty();
            return begun.uses();
        }
        return creation.isEmpty()
                ? grants.unmanagedScan().scan(terms.gpus(), UnmanagedScan.LIMIT)
                : grants.unmanagedScan().scanWithoutEngine(terms.gpus());
    }

    @Override
    public Optional<Grants.Answer<Lease>> decide(
            LeaseWriter leases, Map<String, List<GpuUse>> uses) {
        Optional<Refusal> stopped = grants.stopped();
        if (stopped.isPresent()) {
            return refused(new RefusedException(stopped.get()));
        }
        Outcome outcome;
        try {
            outcome = outcome(leases.holdings(), uses);
        } catch (RefusedException e) {
            return refused(e);
        }
        return switch (outcome) {
            case Outcome.Chosen chosen ->
                    grants.begin(leases, request, creation, chosen, terms.allowances())
                            .map(Grants.Granted::new);
            case Outcome.Busy busy ->
                    Optional.of(new Grants.Blocked<>(busy.leases(), () -> unavailable(busy)));
            case Outcome.Impossible why ->
                    Optional.of(new Grants.Refused<>(() -> unavailable(why)));
        };
    }

    private UnavailableException unavailable(Outcome.Unmet why) {
        return new UnavailableException(
                why,
                creation.isPresent() ? Addressee.ENGINE : Addressee.COMMAND,
                grants.keeper().remark(why.leases()));
    }

    private static Optional<Grants.Answer<Lease>> refused(RefusedException why) {
        return Optional.of(new Grants.Refused<>(() -> why));
    }

    /**
     * Chooses GPUs.
     *
     * @param uses those of no lease, by the UUIDs of the GPUs
     * @throws RefusedException when the host has no such GPU
     */
    Outcome outcome(Holdings all, Map<String, List<GpuUse>> uses) throws RefusedException {
        UnmanagedUses unmanaged = terms.unmanaged(uses);
        Optional<Lease> earlier = creation.flatMap(it -> it.earlier(all)).map(SeenEnd::lease);
        Holdings holdings =
                earlier.map(past ->
                                all.without(lease ->
                                        lease.id() == past.id()
                                                || isOwn(past)
                                                        && lease.claim().isBeside(past.claim())))
                        .orElse(all);
        if (earlier.isPresent()) {
            // Not for waiting clients: these were not given back.
            GpuChoice first =
                    terms.ofRestart(earlier.get().claim())
                            .choice(holdings.ofRestart(), unmanaged, List.of());
            Optional<Outcome.Chosen> same = ofIts(earlier.get(), first);
            if (same.isPresent()) {
                return same.get();
            }
        }
        GpuChoice choice = terms.choice(holdings, unmanaged, before);
        keepers = choice.keepers();
        Set<String> had = had();
        if (request.requested().request() instanceof GpuRequest.Count count
                && !had.isEmpty()
                && outcome(choice, count, had) instanceof Outcome.Chosen same) {
            return same;
        }
        return choice.of(request.requested());
    }

    /** The UUIDs of the GPUs that its container had before and may be given. */
    private Set<String> had() {
        Set<String> had = creation.map(Creation::had).orElse(Set.of());
        return request.requested().candidates().isEmpty()
                ? had
                : had.stream()
                        .filter(request.requested().candidates()::contains)
                        .collect(Collectors.toSet());
    }

    /** The GPUs of a lease, if they match the request. */
    private Optional<Outcome.Chosen> ofIts(Lease lease, GpuChoice choice) throws RefusedException {
        Set<String> its =
                lease.claim().gpus().stream().map(ClaimedGpu::uuid).collect(Collectors.toSet());
        Outcome outcome =
                switch (request.requested().request()) {
                    case GpuRequest.Count count -> outcome(choice, count, its);
                    // Whatever has become of the one whose GPUs these were first.
                    case GpuRequest.With _ ->
                            choice.of(
                                    request.requested()
                                            .with(
                                                    new GpuRequest.Devices(
                                                            lease.claim().gpus().stream()
                                                                    .map(ClaimedGpu::uuid)
                                                                    .toList()),
                                                    request.requested().candidates()));
                    case GpuRequest.All _, GpuRequest.None _, GpuRequest.Devices _ ->
                            choice.of(request.requested());
                };
        return outcome instanceof Outcome.Chosen chosen
                        && chosen.gpus().stream().allMatch(gpu -> its.contains(gpu.uuid()))
                ? Optional.of(chosen)
                : Optional.empty();
    }

    /** A choice among those that it had, which met the request, whatever NVML reports. */
    private Outcome outcome(GpuChoice choice, GpuRequest.Count count, Set<String> had)
            throws RefusedException {
        GpuFilter share = GpuFilter.sharing(count.filter().share());
        return choice.of(request.requested().with(new GpuRequest.Count(count.gpus(), share), had));
    }

    /** The clients that come first, and that free GPUs were kept for at the last decision. */
    Set<Ticket> keepers() {
        return keepers;
    }

    /**
     * GPUs that were chosen have vanished before they could be used.
     *
     * @throws RefusedException when that happens again and again
     */
    void vanished(Lease lease) throws RefusedException {
        if (++vanished == TRIES) {
            throw new RefusedException(
                    LeaseText.vanished(lease.claim().gpus()),
                    "see 'jnvdocker gpu ls' and dmesg, then try again");
        }
    }

    /** A container that is started again may be known to be another user's by then. */
    private boolean isOwn(Lease past) {
        return past.claim().owner().isSameAs(request.requested().owner());
    }
}
