package jnvdocker.lease;

import jnvdocker.container.Allocation;
import jnvdocker.container.GpuRequest;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.Gpu;
import jnvdocker.labels.Quote;
import jnvdocker.labels.RefusedException;
import jnvdocker.process.ProcessGroup;
import jnvdocker.process.ProcessId;
import jnvdocker.use.GpuUse;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Gives GPUs to containers, each to one at a time, and says who has them. */
public final class Leases {
    /** Where a container finds its lease. */
    public static final String FOLDER = "/run/jnvdocker";

    /** Carried by every container with GPUs: the id of its claim. */
    public static final String CLAIM_LABEL = "jnvdocker.claim";

    /** Likewise: the UUIDs of its GPUs, parted by commas. */
    static final String GPUS_LABEL = "jnvdocker.gpus";

    private static final Logger LOG = LoggerFactory.getLogger(Leases.class);
    private static final Duration ENGINE_LIMIT = Duration.ofSeconds(5);

    /** For how long the engine is asked who else uses GPUs; it mostly takes a few milliseconds. */
    private static final Duration LOOK_LIMIT = Duration.ofSeconds(1);

    private static final Duration A_MOMENT = Duration.ofMillis(50);

    /** After how many moments who waits looks again, though nothing is known to have changed. */
    private static final int LOOK_AGAIN = 20;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final LeaseEnder ender;
    private final Reconciler reconciler;
    private final Evidence evidence;
    private final WaitingLine line;
    private final Strangers strangers;
    private final Policy policy;
    private final Pace pace;
    private final String volumeDriver;
    private volatile boolean stopped;

    Leases(
            LeaseRegistry registry,
            ClaimFiles files,
            LeaseEnder ender,
            Reconciler reconciler,
            Evidence evidence,
            WaitingLine line,
            Strangers strangers,
            Policy policy,
            Pace pace,
            String volumeDriver) {
        this.registry = registry;
        this.files = files;
        this.ender = ender;
        this.reconciler = reconciler;
        this.evidence = evidence;
        this.line = line;
        this.strangers = strangers;
        this.policy = policy;
        this.pace = pace;
        this.volumeDriver = volumeDriver;
    }

    /**
     * Who asks for GPUs, and for what.
     *
     * @param gpus those of this host, in order of index
     * @param client the process that is about to become docker: as long as it lives, what it was
     *     given is reserved
     * @param engine the id of the engine that the container will be of, or its address; {@link
     *     Claim#HOST} for a process of the host
     * @param image of the container, or the program of the process
     * @param waiting for GPUs that are taken; who does not is refused
     */
    public record Request(
            GpuRequest request,
            List<Gpu> gpus,
            Owner owner,
            ProcessId client,
            String engine,
            String image,
            Optional<Waiting> waiting) {}

    /**
     * Reserves all the GPUs that are asked for, until docker mounts the claim's volume or the
     * client ends.
     *
     * @return empty for a request for no GPU
     * @throws RefusedException saying who has them
     * @throws IOException when the registry can't be written
     */
    public Optional<Claim> claim(Request request) throws RefusedException, IOException {
        if (stopped) {
            throw stoppedRefusal();
        }
        if (request.request() instanceof GpuRequest.None) {
            return Optional.empty();
        }
        reconciler.learnOfRunning(ENGINE_LIMIT);
        return Optional.of(
                request.waiting().isPresent()
                        ? waitFor(request, request.waiting().get())
                        : now(request));
    }

    private Claim now(Request request) throws RefusedException, IOException {
        while (true) {
            Choice choice = new Choice(request, line.all());
            Optional<Claim> claim = reserve(choice);
            if (claim.isPresent()) {
                return claim.get();
            }
            GpuChoice.Busy busy = choice.busy();
            if (!ender.end(busy.leases(), LeaseEnder.Caller.CLIENT)) {
                if (!ender.isSettling(busy.leases())) {
                    throw new RefusedException(busy.refusal());
                }
                pace.sleep(A_MOMENT);
            }
        }
    }

    private Optional<Claim> reserve(Choice choice) throws IOException {
        Optional<Claim> claim = registry.reserve(choice::make);
        if (claim.isPresent() && !claim.get().isOfProcess()) {
            files.write(claim.get());
        }
        return claim;
    }

    /**
     * The client keeps the GPUs as the program that it is about to become, for as long as that or
     * anything it starts lives.
     *
     * @throws RefusedException when they are not the client's any more
     * @throws IOException when its children could not be watched
     */
    public void becomes(Claim claim, ProcessId client) throws RefusedException, IOException {
        String cgroup = ProcessGroup.make(client, Evidence.group(claim));
        if (!registry.becomes(claim.id(), client, cgroup)) {
            throw new RefusedException(
                    "the reservation of "
                            + Refusals.command(claim, client)
                            + " was ended before its command began ('jnvdocker gpu leases --all'"
                            + " says by whom); try again");
        }
    }

    /** In the line. Its place stays when this daemon is stopped meanwhile. */
    private Claim waitFor(Request request, Waiting waiting) throws RefusedException, IOException {
        giveBackEarlier(request.client());
        Ticket ticket = line.enter(request.client(), request.owner(), request.request());
        try {
            // It may have a place of an earlier daemon, which allowed more.
            refuseTooLong(waiting);
            Claim claim = new Turn(request, waiting, ticket).await();
            line.leave(ticket);
            return claim;
        } catch (RefusedException e) {
            line.leave(ticket);
            throw e;
        } catch (IOException e) {
            line.lose(ticket);
            throw e;
        }
    }

    private void refuseTooLong(Waiting waiting) throws RefusedException {
        Optional<Duration> longest = policy.maxWait();
        if (longest.isPresent()
                && waiting.limit().filter(it -> it.compareTo(longest.get()) > 0).isPresent()) {
            throw new RefusedException(
                    "nobody may wait for GPUs longer than "
                            + Span.text(longest.get())
                            + " ("
                            + policy.key("max_wait")
                            + "); give --gpu-wait less, or no time at all");
        }
    }

    /** It asks again, after a daemon that could not give it its answer any more. */
    private void giveBackEarlier(ProcessId client) throws IOException {
        for (Lease lease : registry.live()) {
            if (lease.holder() instanceof Holder.Client(ProcessId process)
                    && process.equals(client)) {
                cancel(lease.claim());
            }
        }
    }

    /** Refuses claims from now on. What was given before is among {@link #live}. */
    public void stop() {
        stopped = true;
    }

    /** Grants claims again. */
    public void resume() {
        stopped = false;
    }

    private static RefusedException stoppedRefusal() {
        return new RefusedException(
                "jnvdocker is being uninstalled from this host, and no container gets GPUs of it"
                        + " any more; ask an administrator");
    }

    /** Gives back what was reserved for a client that does not become docker. */
    public void cancel(Claim claim) throws IOException {
        Optional<Lease> lease = registry.liveOf(claim.id());
        if (lease.filter(Lease::isReservation).isPresent()) {
            registry.end(lease.get(), "docker was not run");
        }
        if (!registry.hasVolume(claim.id())) {
            registry.forget(claim.id());
            files.delete(claim.id());
        }
    }

    /** What the claim's container gets of it. */
    public Allocation allocation(Claim claim, List<Gpu> gpus) {
        List<String> uuids = claim.gpus().stream().map(ClaimedGpu::uuid).toList();
        VolumeMount mount =
                new VolumeMount(
                        ClaimVolumes.name(claim.id()),
                        volumeDriver,
                        FOLDER,
                        ClaimOptions.of(claim));
        return new Allocation(
                gpus.stream().filter(gpu -> uuids.contains(gpu.uuid())).toList(),
                List.of(mount),
                Map.of(CLAIM_LABEL, claim.id(), GPUS_LABEL, String.join(",", uuids)));
    }

    /** Every GPU of the host, and those that are held and missing, in order of index. */
    public List<GpuStatus> status(List<Gpu> gpus) throws IOException {
        endReservations();
        List<GpuUse> seen = strangers.look(gpus, LOOK_LIMIT);
        LeaseRegistry.Holdings holdings = registry.holdings();
        Unmanaged unmanaged = unmanaged(seen, holdings);
        GpuChoice choice = new GpuChoice(gpus, holdings, unmanaged, line.all(), policy);
        return new GpuBoard(holdings, evidence, unmanaged, choice).status(gpus);
    }

    private Unmanaged unmanaged(List<GpuUse> seen, LeaseRegistry.Holdings holdings) {
        return new Unmanaged(
                strangers.among(seen, holdings.held().values()), policy.allowUnmanaged());
    }

    /**
     * GPUs get no new leases from now on, until {@link #uncordon}. Who has one keeps it.
     *
     * @param reason for people; may be empty
     */
    public void cordon(List<Gpu> gpus, Owner by, String reason) throws IOException {
        for (Gpu gpu : gpus) {
            registry.cordon(gpu.uuid(), by, reason);
            LOG.info("GPU {} was cordoned by {}: {}", gpu.uuid(), by.name(), reason);
        }
    }

    /** What the configuration cordons and this host does not have: a slip of the pen, perhaps. */
    public List<String> cordonsNothing(List<Gpu> gpus) {
        return policy.cordonsNothing(gpus);
    }

    /**
     * GPUs get leases again.
     *
     * @throws RefusedException when it is the configuration that cordons one
     */
    public void uncordon(List<Gpu> gpus) throws RefusedException, IOException {
        for (Gpu gpu : gpus) {
            if (policy.cordons(gpu)) {
                throw new RefusedException(
                        Refusals.name(gpu.index(), gpu.uuid())
                                + " is cordoned by "
                                + policy.key("cordon")
                                + "; take it out there, then restart jnvdockerd");
            }
        }
        for (Gpu gpu : gpus) {
            if (registry.uncordon(gpu.uuid())) {
                LOG.info("GPU {} was uncordoned", gpu.uuid());
            }
        }
    }

    /** The leases that GPUs are held under, the oldest first. */
    public List<Lease> live() throws IOException {
        endReservations();
        return registry.live();
    }

    /** Those who wait for GPUs, first come first. */
    public List<Ticket> waiting() {
        return line.all();
    }

    /** Every claim that a volume of docker's is for, in order of id. */
    public List<Claim> claimsWithVolume() throws IOException {
        return registry.claimsWithVolume();
    }

    /** What a live lease makes of its GPUs: RESERVED, HELD or STUCK. */
    public GpuStatus.State state(Lease lease) {
        return evidence.state(lease, evidence.of(lease));
    }

    /** Leases that have ended, the latest first. */
    public List<Lease> past(int limit) throws IOException {
        return registry.past(limit);
    }

    /** Leases of one GPU that have ended, the latest first. */
    public List<Lease> pastOf(Gpu gpu, int limit) throws IOException {
        return registry.pastOf(gpu.uuid(), limit);
    }

    /**
     * For how long users have had GPUs since then.
     *
     * @param gpu the UUID of the one that counts; empty counts all
     */
    public GpuTime gpuTime(Instant from, Optional<String> gpu) throws IOException {
        endReservations();
        return registry.gpuTime(from, gpu);
    }

    /**
     * Leases of one GPU that have ended since then, the latest first.
     *
     * @param uids of the only owners that count; empty when all do
     */
    public List<Lease> pastOf(String gpu, Instant from, Optional<Set<Integer>> uids, int limit)
            throws IOException {
        return registry.pastOf(gpu, from, uids, limit);
    }

    /** The UUIDs of GPUs that were given back once; the host need not have them any more. */
    public List<String> pastGpus() throws IOException {
        return registry.pastGpus();
    }

    /** What keeps a lease alive, for people: {@code its first process (pid 4711) runs}. */
    public String explain(Lease lease) {
        return switch (evidence.of(lease)) {
            case Evidence.Alive(ProcessId process) when lease.isReservation() ->
                    Refusals.command(lease.claim(), process)
                            + (lease.claim().isOfProcess()
                                    ? " has not started its command yet"
                                    : " has not started its container yet");
            case Evidence.Alive(ProcessId process) when evidence.isDying(process) ->
                    "its process (pid " + process.pid() + ") was killed and does not end";
            case Evidence.Alive(ProcessId process)
                    when lease.holder() instanceof Holder.Process(_, String cgroup)
                            && !evidence.isAlive(process) ->
                    "its process (pid "
                            + process.pid()
                            + ") has ended, and others that it started run: "
                            + cgroup
                            + "/cgroup.procs lists them";
            case Evidence.Alive(ProcessId process) ->
                    "its process (pid " + process.pid() + ") runs";
            case Evidence.Gone(String why) -> why + "; the engine may be about to start it again";
            case Evidence.Unclear _ -> "docker has mounted its claim, and nothing of it runs yet";
        };
    }

    /**
     * Ends the lease of a claim whose holder is gone.
     *
     * @throws RefusedException when there is none, or its holder is not known to be gone
     */
    public Lease release(String claim) throws RefusedException, IOException {
        Lease lease = lease(claim);
        ender.end(List.of(lease), LeaseEnder.Caller.CLIENT);
        if (registry.liveOf(claim).filter(now -> now.id() == lease.id()).isPresent()) {
            throw new RefusedException(
                    "claim "
                            + claim
                            + " is not released: "
                            + explain(lease)
                            + (lease.claim().isOfProcess()
                                    ? "; end it, or use --force if you know better"
                                    : "; stop the container, or use --force if you know better"));
        }
        return lease;
    }

    /**
     * Ends the lease of a claim, whatever its holder does.
     *
     * @param who does it, and why: it stays in the history
     * @throws RefusedException when the claim has none
     */
    public Lease releaseByForce(String claim, String who) throws RefusedException, IOException {
        Lease lease = lease(claim);
        if (!registry.endByForce(lease, "released by force: " + who)) {
            throw new RefusedException(
                    "claim "
                            + claim
                            + " has just ended by itself; 'jnvdocker gpu leases --all' says how");
        }
        LOG.warn("lease {} of claim {} was released by force: {}", lease.id(), claim, who);
        return lease;
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
                    "claim "
                            + Quote.shown(claim)
                            + " holds no GPU; "
                            + (held.isEmpty() ? "no claim does" : "those that do: " + held)
                            + " ('jnvdocker gpu leases')");
        }
        return lease.get();
    }

    /** Containers are seen to in the background: who asks does not wait for an engine. */
    private void endReservations() throws IOException {
        List<Lease> others =
                registry.live().stream().filter(lease -> !lease.isOfContainer()).toList();
        ender.end(others, LeaseEnder.Caller.VERB);
    }

    /** Somebody's wait, until it is his turn and there is enough for him. */
    private final class Turn {
        private final Request request;
        private final Waiting waiting;
        private final Ticket ticket;
        private final Optional<Duration> limit;
        private final long began;
        private String said = "";

        Turn(Request request, Waiting waiting, Ticket ticket) {
            this.request = request;
            this.waiting = waiting;
            this.ticket = ticket;
            limit = waiting.limit().or(policy::maxWait);
            // It may have waited for the daemon before this one.
            Duration before = Duration.between(ticket.since(), registry.now());
            began = pace.nanos() - (before.isNegative() ? 0 : before.toNanos());
        }

        Claim await() throws RefusedException, IOException {
            while (true) {
                long changes = registry.changes();
                List<Ticket> before = line.before(ticket);
                Choice choice = new Choice(request, before);
                Optional<Claim> claim = reserve(choice);
                if (claim.isPresent()) {
                    tellOfTheEnd(claim.get());
                    return claim.get();
                }
                GpuChoice.Busy busy = choice.busy();
                if (!ender.end(busy.leases(), LeaseEnder.Caller.CLIENT)) {
                    tell(before.size() + 1, busy);
                    pause(changes, before.size());
                }
            }
        }

        private void tell(int place, GpuChoice.Busy busy) throws RefusedException, IOException {
            String text =
                    "waiting for "
                            + Refusals.asked(request.request())
                            + ", "
                            + (place == 1 ? "next" : "number " + place)
                            + " in line"
                            + longest(", for ", " at most")
                            + ": "
                            + busy.reason();
            if (!text.equals(said)) {
                said = text;
                waiting.listener().hear(text);
            }
            if (limit.filter(it -> waited().compareTo(it) >= 0).isPresent()) {
                String longest = longest(" for ", ", the longest that anybody may");
                throw new RefusedException(
                        "waited in vain"
                                + longest
                                + ", "
                                + busy.reason()
                                + "; wait "
                                + (longest.isEmpty() ? "longer" : "again")
                                + " with --gpu-wait");
            }
        }

        /** The lab's limit, when it is that which ends the wait. */
        private String longest(String before, String after) {
            return waiting.limit().isPresent() || limit.isEmpty()
                    ? ""
                    : before + Span.text(limit.get()) + after + " (" + policy.key("max_wait") + ")";
        }

        private void tellOfTheEnd(Claim claim) throws IOException {
            if (!said.isEmpty()) {
                waiting.listener()
                        .hear(
                                "got "
                                        + claim.gpus().stream()
                                                .map(gpu -> Refusals.name(gpu.index(), gpu.uuid()))
                                                .collect(Collectors.joining(", "))
                                        + " after "
                                        + Span.text(waited()));
            }
        }

        private Duration waited() {
            return Duration.ofNanos(pace.nanos() - began);
        }

        /** Until something may have changed, or a second. Those behind others look less often. */
        private void pause(long changes, int before) throws IOException {
            for (int i = 0; i < LOOK_AGAIN; i++) {
                pace.sleep(A_MOMENT);
                if (Thread.currentThread().isInterrupted()) {
                    throw new IOException("the daemon is stopping");
                }
                if (i % 4 == 0 && !evidence.isAlive(request.client())) {
                    throw new ClientGoneException(request.client());
                }
                if (before == 0 && registry.changes() != changes) {
                    return;
                }
            }
        }
    }

    /** One choice, made inside the registry's transaction. */
    private final class Choice {
        private final Request request;
        private final List<Ticket> before;
        private final List<GpuUse> seen;
        private RefusedException refusal;
        private GpuChoice.Busy busy;

        /**
         * @param before who waits and has come before
         */
        Choice(Request request, List<Ticket> before) throws IOException {
            this.request = request;
            this.before = before;
            // Who else uses them does not matter to who can't have any: many may wait. Whom their
            // quota keeps from being served is not known yet.
            Map<String, Ticket> kept = WaitingLine.keptFor(before, request.gpus());
            boolean none =
                    policy.maxGpusPerUser().isEmpty()
                            && request.gpus().stream()
                                    .allMatch(gpu -> kept.containsKey(gpu.uuid()));
            seen = none ? List.of() : strangers.look(request.gpus(), LOOK_LIMIT);
        }

        Optional<LeaseRegistry.Reservation> make(LeaseRegistry.Holdings holdings) {
            try {
                if (stopped) {
                    throw stoppedRefusal();
                }
                GpuChoice choice =
                        new GpuChoice(
                                request.gpus(),
                                holdings,
                                unmanaged(seen, holdings),
                                before,
                                policy);
                return switch (choice.of(request.request(), request.owner())) {
                    case GpuChoice.Chosen(List<Gpu> gpus) ->
                            Optional.of(
                                    new LeaseRegistry.Reservation(
                                            claim(gpus, holdings), request.client()));
                    case GpuChoice.Busy found -> {
                        busy = found;
                        yield Optional.empty();
                    }
                };
            } catch (RefusedException e) {
                refusal = e;
                return Optional.empty();
            }
        }

        GpuChoice.Busy busy() throws RefusedException {
            if (refusal != null) {
                throw refusal;
            }
            return busy;
        }

        private Claim claim(List<Gpu> gpus, LeaseRegistry.Holdings holdings) {
            byte[] id = new byte[6];
            RANDOM.nextBytes(id);
            return new Claim(
                    HexFormat.of().formatHex(id),
                    request.engine(),
                    request.owner(),
                    gpus.stream().map(ClaimedGpu::of).toList(),
                    request.image(),
                    holdings.now(),
                    Optional.empty());
        }
    }
}
