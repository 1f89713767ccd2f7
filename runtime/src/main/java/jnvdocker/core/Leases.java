package jnvdocker.core;

import jnvdocker.container.Allocation;
import jnvdocker.container.VolumeMount;
import jnvdocker.decision.DecisionLog;
import jnvdocker.decision.UnavailableException;
import jnvdocker.grant.Grant;
import jnvdocker.grant.Grants;
import jnvdocker.grant.Place;
import jnvdocker.grant.Reservations;
import jnvdocker.grant.Waiting;
import jnvdocker.grant.WaitingQueue;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.HostView;
import jnvdocker.holder.Life;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.AfterStop;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.OpenDevices;
import jnvdocker.registry.ClaimStore;
import jnvdocker.registry.LeaseHistory;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.RegistryException;
import jnvdocker.registry.Timeline;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.Bookings;
import jnvdocker.supply.Standing;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.use.Observer;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Gives GPUs to containers, each to one at a time, and reports their holders. */
public final class Leases {
    private final WithheldGpus withheld = new WithheldGpus();

    /** The path of the lease in a container. */
    public static final String DIRECTORY = "/run/jnvdocker";

    private static final Logger LOG = LoggerFactory.getLogger(Leases.class);
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
    private final String volumeDriver;
    private final DecisionLog log;
    private final Releases releases;
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
        this.volumeDriver = volumeDriver;
        this.log = log;
        releases = new Releases(this, registry, keeper, evidence, supply);
        cordons = new Cordoning(registry, supply, troubles);
    }

    /**
     * Reserves all the GPUs that are requested, until docker mounts the claim's volume or the
     * client ends.
     *
     * @param waits for GPUs that are taken; without it, the request is refused
     * @return nothing for a request for no GPU
     * @throws RefusedException when they cannot be given; the message names their holders if others
     *     have them
     * @throws IOException when the registry cannot be written
     */
    public Grant<Claim> take(Request request, Optional<Waiting> waits)
            throws RefusedException, IOException {
        return new Grant<>(grants.take(request, waits).map(Lease::claim), reservations::cancel);
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
        endReservations();
        supply.learn(owner, Supply.NAMES_LIMIT);
        return supply.standing(owner, registry.holdings());
    }

    /** The time by the clock that leases and places in the queue are counted by. */
    public Instant now() {
        return registry.now();
    }

    /**
     * The claim's GPUs as its container gets them.
     *
     * @param gpus those that the host has at this moment
     * @throws RefusedException when the claim's are not all among them
     */
    public Allocation allocation(Claim claim, List<Gpu> gpus) throws RefusedException {
        List<Gpu> its = gpus(claim, gpus);
        VolumeMount mount =
                new VolumeMount(ClaimNames.volume(claim.key()), volumeDriver, DIRECTORY);
        return new Allocation(
                its, List.of(mount), Map.of(ClaimNames.CLAIM_LABEL, claim.key().text()));
    }

    /**
     * The claim's GPUs, as they are now.
     *
     * @param gpus those that the host has at this moment
     * @throws RefusedException when the claim's are not all among them
     */
    public static List<Gpu> gpus(Claim claim, List<Gpu> gpus) throws RefusedException {
        List<Gpu> its =
                gpus.stream()
                        .filter(gpu -> claim.gpus().stream().anyMatch(it -> it.isStill(gpu)))
                        .toList();
        if (its.size() < claim.gpus().size()) {
            throw new RefusedException(
                    LeaseText.vanished(claim.gpus()),
                    "see 'jnvdocker gpu ls' and dmesg, then try again");
        }
        return its;
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
        endReservations();
        List<GpuUse> seen = unmanagedScan.scan(gpus, UnmanagedScan.LIMIT);
        return board(gpus, seen, registry.holdings());
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
        endReservations();
        List<Gpu> gpus = supply.gpus();
        List<GpuUse> seen = unmanagedScan.scan(gpus, UnmanagedScan.LIMIT);
        Holdings holdings = registry.holdings();
        List<Ticket> before = queue.before(supply.allowance(owner).rank());
        Supply.Terms terms = supply.terms(gpus, List.of(owner), before);
        UnmanagedUses unmanaged = unmanagedScan.unmanaged(seen, holdings, terms.rules());
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
                                why, Addressee.COMMAND, keeper.remark(why.leases()));
            };
        } catch (RefusedException e) {
            return new Offer(List.of(), free, Optional.of(e));
        }
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
        endReservations();
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
        endReservations();
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

    /**
     * Makes the claim of a container that observes the GPUs. It names no GPU and gets no lease; our
     * OCI runtime learns by it who has started the container.
     */
    public Claim observer(Owner owner, String image) throws IOException {
        Claim claim =
                new Claim(
                        registry.newKey(),
                        new Origin.OciContainer("", Optional.of(image)),
                        owner,
                        List.of(),
                        registry.now(),
                        Optional.empty());
        registry.requests().made(claim, new GpuRequest.All());
        return claim;
    }

    /** Containers that run without the GPUs that something in them requests. */
    public WithheldGpus withheld() {
        return withheld;
    }

    /** How long each lease of a claim is to last, if its user says so. */
    public Optional<Duration> time(Claim claim) throws IOException {
        return registry.decide(writer -> writer.time(claim));
    }

    /** The state of a live lease's GPUs: RESERVED, HELD or STUCK. */
    public GpuStatus.State state(Lease lease) {
        return evidence.state(lease, evidence.of(lease));
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
        endReservations();
        return registry.history().gpuTime(from, until, gpu);
    }

    /** The use of each GPU over time. */
    public Timeline timeline() {
        return registry.timeline();
    }

    /** What else keeps a lease's holder, in whole sentences for people; empty if nothing does. */
    public Optional<String> keptBy(Lease lease) {
        return evidence.kind(lease).keptBy(lease);
    }

    /**
     * The evidence that keeps a lease alive, for people: {@code its first process (pid 4711) runs}.
     */
    public String explain(Lease lease) {
        return switch (evidence.of(lease)) {
            case Life.Running(ProcessId process) when lease.isReservation() ->
                    LeaseText.command(lease.claim(), process)
                            + switch (lease.claim().origin().kind()) {
                                case OCI ->
                                        lease.claim().container().isPresent()
                                                ? " is being created"
                                                : " has not started its container yet";
                                case ENGINE, MESOS -> " has not started its container yet";
                                case PROCESS -> " has not started its command yet";
                                case POD -> " has not been started by the kubelet yet";
                            }
                            + stopped(process);
            case Life.Running(ProcessId process) when evidence.isDying(process) ->
                    "its process (pid " + process.pid() + ") was killed and does not end";
            case Life.Running(ProcessId process) when evidence.isFrozenDead(process) ->
                    "its process (pid "
                            + process.pid()
                            + ") was killed, and ends when its cgroup is thawed (docker unpause, if"
                            + " docker has paused it)";
            case Life.Running(ProcessId process) ->
                    evidence.kind(lease).runs(lease, process)
                            + (evidence.isPaused(lease, process)
                                    ? ", and is paused until its engine lets it go on (docker"
                                            + " unpause)"
                                    : lease.isOfContainer() ? "" : stopped(process));
            case Life.Gone(String why) ->
                    why
                            + evidence.memory(lease)
                                    .kept()
                                    .map(kept -> ", but " + kept)
                                    .orElse("; the engine may be about to start it again");
            case Life.Starting _ -> "docker has mounted its claim, and nothing of it runs yet";
            case Life.Unknown _ -> evidence.kind(lease).unknown(lease);
        };
    }

    private String stopped(ProcessId process) {
        int pid = process.pid();
        return evidence.isStopped(process)
                ? ", and is stopped: kill -CONT %s lets it go on, kill -KILL %s ends it"
                        .formatted(pid, pid)
                : "";
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
        endReservations();
        return bookings.book(request, owner, from, time, byRoot);
    }

    /** The leases under which others of a lease's party hold some of its GPUs, too. */
    public List<Lease> beside(Lease lease) throws IOException {
        return registry.holdings().beside(lease.claim());
    }

    /** The leases of other GPUs whose holders may open this one. */
    public List<Lease> opening(Gpu gpu) throws IOException {
        return registry.holdings().opening(gpu);
    }

    /** The live lease of a claim. */
    public Lease lease(String claim) throws RefusedException, IOException {
        Optional<Lease> lease = registry.liveOf(claim);
        if (lease.isEmpty()) {
            String held =
                    registry.live().stream()
                            .map(live -> live.claim().id())
                            .collect(Collectors.joining(", "));
            throw new RefusedException(
                    "claim " + Quote.shown(claim) + " holds no GPU",
                    (held.isEmpty() ? "no claim does" : "those that do: " + held)
                            + " ('jnvdocker gpu leases')");
        }
        return lease.get();
    }

    /**
     * Containers are handled in the background, so that no command waits for an engine. An end that
     * cannot be written is shown as far as it is known, and {@link #unwrittenEnd} says so.
     */
    private void endReservations() throws IOException {
        List<Lease> others =
                registry.live().stream().filter(lease -> !lease.isOfContainer()).toList();
        try {
            keeper.end(others, Keeper.Caller.WAITER);
        } catch (RegistryException e) {
            if (keeper.unwrittenEnd().isEmpty()) {
                throw e;
            }
            LOG.debug("the end of a lease is not written: {}", e.getMessage());
        }
    }

    /** Why leases are shown although their holders may be gone: for people, with what to do. */
    public Optional<String> unwrittenEnd() {
        return keeper.unwrittenEnd()
                .map(why ->
                        "leases that have ended since cannot be recorded, and are still shown: "
                                + why);
    }
}
