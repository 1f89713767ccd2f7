package jnvdocker.core;

import jnvdocker.decision.DecisionLog;
import jnvdocker.grant.Grants;
import jnvdocker.grant.Place;
import jnvdocker.grant.Reservations;
import jnvdocker.grant.WaitingQueue;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.HolderText;
import jnvdocker.holder.HostView;
import jnvdocker.holder.Life;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.AfterStop;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.process.OpenDevices;
import jnvdocker.registry.ClaimStore;
import jnvdocker.registry.LeaseHistory;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.Timeline;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.Bookings;
import jnvdocker.supply.Standing;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.use.Observer;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What is known of all GPUs, of the leases they are held under and of those who wait for them, as
 * commands, the page and the metrics show it. The parts that change something are handed out.
 */
public final class Leases {
    private final LeaseRegistry registry;
    private final Grants grants;
    private final Reservations reservations;
    private final Keeper keeper;
    private final Evidence evidence;
    private final WaitingQueue queue;
    private final UnmanagedScan unmanagedScan;
    private final GpuTroubles troubles;
    private final Supply supply;
    private final Bookings bookings;
    private final DecisionLog log;
    private final RunClaims runs;
    private final HolderText holders;
    private final Releases releases;
    private final WithheldGpus withheld = new WithheldGpus();
    private final Cordoning cordons;

    Leases(
            Grants grants,
            Evidence evidence,
            GpuTroubles troubles,
            String volumeDriver,
            DecisionLog log) {
        this.grants = grants;
        registry = grants.parts().registry();
        reservations = grants.parts().reservations();
        keeper = grants.parts().keeper();
        queue = grants.parts().queue();
        unmanagedScan = grants.parts().unmanagedScan();
        supply = grants.parts().supply();
        this.evidence = evidence;
        this.troubles = troubles;
        this.bookings = new Bookings(registry, supply);
        runs = new RunClaims(grants, volumeDriver);
        holders = new HolderText(evidence);
        this.log = log;
        releases = new Releases(registry, keeper, evidence, supply);
        cordons = new Cordoning(registry, supply, troubles);
    }

    /** The part that makes and gives the claims of {@code jnvdocker run} and {@code gpu run}. */
    public RunClaims runs() {
        return runs;
    }

    /** The part that says what holders do. */
    public HolderText holders() {
        return holders;
    }

    /** The part that ends leases by command, and gives them more time. */
    public Releases releases() {
        return releases;
    }

    /** The part that takes GPUs out. */
    public Cordoning cordons() {
        return cordons;
    }

    /** The part that gives GPUs, and stops to do so. */
    public Grants grants() {
        return grants;
    }

    /** The part in which reservations of clients become something, or end. */
    public Reservations reservations() {
        return reservations;
    }

    /** The claims, and the refused starts of their containers. */
    public ClaimStore claims() {
        return registry.claims();
    }

    /** The leases that have ended. */
    public LeaseHistory history() {
        return registry.history();
    }

    /** The rules of the configuration, as they are now. */
    public LeasePolicy rules() {
        return supply.rules();
    }

    /** A holder that has GPUs without a volume of docker's, for people; empty if there is none. */
    public Optional<String> unknownToDocker() throws IOException {
        return registry.live().stream()
                .filter(lease -> !lease.claim().origin().isKnownToDocker())
                .map(LeaseText::holder)
                .findFirst();
    }

    /** The decisions, the refusals among them. */
    public DecisionLog decisions() {
        return log;
    }

    /** Returns a user's limits by the configuration, and what the user holds. */
    public Standing standing(Owner owner) throws IOException {
        keeper.endReservations();
        supply.learn(owner, Supply.NAMES_LIMIT);
        return supply.standing(owner, registry.holdings());
    }

    /** The time by the clock that leases and places in the queue are counted by. */
    public Instant now() {
        return registry.now();
    }

    /** Every GPU of the host, and those that are held and missing, in order of index. */
    public List<GpuStatus> status(List<Gpu> gpus) throws IOException {
        return board(gpus).gpus();
    }

    /**
     * What is known of all GPUs at a moment.
     *
     * @param gpus as of {@link #status}
     * @param choice that decides by that state, without another scan
     */
    public record Board(List<GpuStatus> gpus, GpuChoice choice) {}

    /** Scans all GPUs, for a caller that has to decide at once later. */
    public Board board(List<Gpu> gpus) throws IOException {
        keeper.endReservations();
        List<GpuUse> seen = unmanagedScan.scan(gpus, UnmanagedScan.LIMIT);
        return board(gpus, seen, registry.holdings());
    }

    /**
     * The GPUs, and the processes that have them open.
     *
     * @param processes the oldest first; one that has several open is there for each
     */
    public record Activity(List<GpuStatus> gpus, List<GpuProcess> processes) {}

    /**
     * @param use that has a process
     * @param lease that allows it; empty for an unmanaged use
     */
    public record GpuProcess(GpuUse use, Optional<Lease> lease) {}

    /** Returns the state of these GPUs, and the processes that have them open. */
    public Activity activity(List<Gpu> gpus) throws IOException {
        keeper.endReservations();
        List<GpuUse> seen = unmanagedScan.scan(gpus, UnmanagedScan.LIMIT);
        Holdings holdings = registry.holdings();
        return new Activity(
                board(gpus, seen, holdings).gpus(),
                seen.stream()
                        .filter(use -> use.kind().isOpen() && use.process().isPresent())
                        .map(use -> new GpuProcess(use, lease(use, holdings)))
                        .toList());
    }

    private Optional<Lease> lease(GpuUse use, Holdings holdings) {
        return holdings.holders(use.gpu()).stream()
                .filter(lease -> evidence.isOfHolder(use.process().orElseThrow(), lease))
                .findFirst();
    }

    private Board board(List<Gpu> shown, List<GpuUse> seen, Holdings holdings) throws IOException {
        List<Gpu> gpus = troubles.mark(shown);
        Supply.Terms terms = supply.terms(gpus, List.of(), queue.all());
        UnmanagedUses unmanaged = unmanagedScan.unmanaged(seen, holdings, terms.rules());
        GpuChoice choice = terms.choice(holdings, unmanaged);
        GpuBoard board =
                new GpuBoard(
                        holdings,
                        evidence,
                        choice,
                        unmanagedScan.knowsContainers(),
                        unmanagedScan.observers());
        return new Board(board.status(), choice);
    }

    /** Whether there was no registry when the daemon started: it is new, or was lost. */
    public boolean isRegistryNew() {
        return registry.isNew();
    }

    /** The leases that GPUs are held under, the oldest first. */
    public List<Lease> live() throws IOException {
        keeper.endReservations();
        return registry.live();
    }

    /** Those of {@link #live} of which something may live; a keeper is about to end the others. */
    public List<Lease> inUse() throws IOException {
        List<Lease> live = live();
        HostView view = evidence.view();
        return live.stream().filter(it -> !(evidence.of(it, view) instanceof Life.Gone)).toList();
    }

    /** The processes that have more files open than one scan checks, as of the last scan. */
    public List<OpenDevices.Partial> partiallyScanned() {
        return unmanagedScan.beyond();
    }

    /**
     * A client that waits for GPUs.
     *
     * @param obstacle why others are served before it; empty when they are not
     */
    public record Waiter(Ticket ticket, Optional<String> obstacle) {}

    /**
     * The clients that wait for GPUs, in order, each with the obstacle that it was last notified
     * of.
     */
    public List<Waiter> waiting() {
        return queue.places().stream()
                .map(place ->
                        new Waiter(
                                place.ticket(), place.standing().flatMap(Place.Standing::obstacle)))
                .toList();
    }

    /** The containers that observe the GPUs, the oldest first. */
    public List<Observer> observers() {
        return unmanagedScan.observers();
    }

    /** Containers that run without the GPUs that something in them requests. */
    public WithheldGpus withheld() {
        return withheld;
    }

    /**
     * For how long the containers of leases that live have had GPUs, by the leases' numbers. A
     * lease that was lost and is known again is younger than its container.
     */
    public Map<Long, Tenure> tenures(List<Lease> leases) throws IOException {
        Instant boot = registry.bootBegan();
        Map<Long, Tenure> tenures = registry.history().tenures(leases);
        for (Lease lease : leases) {
            Optional<Instant> start = lease.holder().init().map(it -> it.since(boot));
            tenures.computeIfPresent(lease.id(), (_, tenure) -> tenure.from(start));
        }
        return tenures;
    }

    /**
     * For how long users have had GPUs since then.
     *
     * @param gpu the UUID of the one that counts; empty counts all
     */
    public GpuTime gpuTime(Instant from, Optional<String> gpu) throws IOException {
        return gpuTime(from, Optional.empty(), gpu);
    }

    /**
     * For how long they have had GPUs until another time.
     *
     * @param until empty for now
     */
    public GpuTime gpuTime(Instant from, Optional<Instant> until, Optional<String> gpu)
            throws IOException {
        keeper.endReservations();
        return registry.history().gpuTime(from, until, gpu);
    }

    /** The use of each GPU over time. */
    public Timeline timeline() {
        return registry.timeline();
    }

    /** The GPUs that are kept for the owners of stopped containers, by UUID. */
    public Map<String, AfterStop> afterStop() throws IOException {
        return supply.afterStop(registry.holdings());
    }

    /** What users have booked ahead. */
    public Bookings bookings() {
        return bookings;
    }

    /** Books GPUs as {@link Bookings#book} does, when the ends of programs are known. */
    public Bookings.Made book(
            GpuRequest request, Owner owner, Instant from, Duration time, boolean byRoot)
            throws RefusedException, IOException {
        keeper.endReservations();
        return bookings.book(request, owner, from, time, byRoot);
    }

    /** The live leases by the GPUs that they are of. */
    public Holdings holdings() throws IOException {
        return registry.holdings();
    }

    /** Why leases are shown although their holders may be gone: for people, with what to do. */
    public Optional<String> unwrittenEnd() {
        return keeper.unwrittenEnd()
                .map(why ->
                        "leases that have ended since cannot be recorded, and are still shown: "
                                + why);
    }
}
