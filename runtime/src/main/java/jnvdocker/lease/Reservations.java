package jnvdocker.lease;

import jnvdocker.container.GpuRequest;
import jnvdocker.host.Gpu;
import jnvdocker.labels.RefusedException;
import jnvdocker.process.ProcessGroup;
import jnvdocker.process.ProcessId;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** Reserves GPUs for clients, at once or when it is their turn. */
final class Reservations {
    private static final Duration ENGINE_LIMIT = Duration.ofSeconds(5);
    private static final Duration A_MOMENT = Duration.ofMillis(50);

    /** How often who waits is looked after meanwhile. */
    private static final Duration A_WHILE = Duration.ofMillis(100);

    /** After how many whiles he looks again, though nothing is known to have changed. */
    private static final int LOOK_AGAIN = 10;

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final LeaseEnder ender;
    private final Reconciler reconciler;
    private final Evidence evidence;
    private final WaitingLine line;
    private final Strangers strangers;
    private final Policy policy;
    private final Pace pace;

    /** Claims that a daemon before this one has reserved GPUs for. */
    private final Set<String> inherited = ConcurrentHashMap.newKeySet();

    private volatile boolean stopped;

    Reservations(
            LeaseRegistry registry,
            ClaimFiles files,
            LeaseEnder ender,
            Reconciler reconciler,
            Evidence evidence,
            WaitingLine line,
            Strangers strangers,
            Policy policy,
            Pace pace)
            throws IOException {
        this.registry = registry;
        this.files = files;
        this.ender = ender;
        this.reconciler = reconciler;
        this.evidence = evidence;
        this.line = line;
        this.strangers = strangers;
        this.policy = policy;
        this.pace = pace;
        registry.live().stream()
                .filter(Lease::isReservation)
                .forEach(lease -> inherited.add(lease.claim().id()));
    }

    /**
     * Reserves all the GPUs that are asked for, until docker mounts the claim's volume or the
     * client ends.
     *
     * @return empty for a request for no GPU
     * @throws RefusedException saying who has them
     * @throws IOException when the registry can't be written
     */
    Optional<Claim> claim(Leases.Request request) throws RefusedException, IOException {
        if (stopped) {
            throw stoppedRefusal();
        }
        if (request.request() instanceof GpuRequest.None) {
            return Optional.empty();
        }
        reconciler.learnOfRunning(ENGINE_LIMIT);
        Optional<Claim> earlier = earlier(request);
        if (request.waiting().isEmpty()) {
            return Optional.of(earlier.isPresent() ? earlier.get() : now(request));
        }
        Waiting waiting = request.waiting().get();
        Optional<Claim> atOnce = earlier.isPresent() ? Optional.empty() : atOnce(request, waiting);
        return Optional.of(atOnce.isPresent() ? atOnce.get() : waitFor(request, waiting, earlier));
    }

    /**
     * What this very process has reserved already: it asks again, after a daemon that could not
     * give it its answer any more.
     */
    private Optional<Claim> earlier(Leases.Request request) throws IOException {
        Optional<Claim> same = Optional.empty();
        if (inherited.isEmpty()) {
            return same;
        }
        for (Lease lease : registry.live()) {
            Claim claim = lease.claim();
            if (lease.holder() instanceof Holder.Client(ProcessId process)
                    && process.equals(request.client())
                    && inherited.remove(claim.id())) {
                if (same.isEmpty() && isAnswer(claim, request)) {
                    write(claim);
                    same = Optional.of(claim);
                } else {
                    cancel(claim);
                }
            }
        }
        return same;
    }

    private static boolean isAnswer(Claim claim, Leases.Request request) {
        return claim.engine().equals(request.engine()) && claim.image().equals(request.image());
    }

    private Claim now(Leases.Request request) throws RefusedException, IOException {
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

    /**
     * What nobody waits for is his who would wait; empty for one who has a place in the line. Of
     * two who come while the first is looked after so, either may be the first in the line.
     */
    private Optional<Claim> atOnce(Leases.Request request, Waiting waiting)
            throws RefusedException, IOException {
        line.forgetTheDead();
        if (line.has(request.client())) {
            return Optional.empty();
        }
        refuseTooLong(waiting);
        Choice choice = new Choice(request, line.all());
        Optional<Claim> claim = reserve(choice);
        if (claim.isEmpty()) {
            choice.busy();
        }
        return claim;
    }

    private Optional<Claim> reserve(Choice choice) throws IOException {
        Optional<Claim> claim = registry.reserve(choice::make);
        if (claim.isPresent()) {
            write(claim.get());
        }
        return claim;
    }

    private void write(Claim claim) throws IOException {
        if (!claim.isWithoutDocker()) {
            files.write(claim);
        }
    }

    /**
     * The client keeps the GPUs as the program that it is about to become, for as long as that or
     * anything it starts lives.
     *
     * @throws RefusedException when they are not the client's any more
     * @throws IOException when its children could not be watched
     */
    void becomes(Claim claim, ProcessId client) throws RefusedException, IOException {
        String cgroup = ProcessGroup.make(client, Evidence.group(claim));
        if (!registry.becomes(claim.id(), client, cgroup)) {
            throw new RefusedException(
                    "the reservation of "
                            + Refusals.command(claim, client)
                            + " was ended before its command began ('jnvdocker gpu leases --all'"
                            + " says by whom); try again");
        }
    }

    /**
     * What the client has reserved is the Mesos container's, for as long as anything of it lives.
     */
    void becomes(
            Claim claim,
            ProcessId client,
            Claim.ContainerRef container,
            Holder.MesosContainer holder)
            throws RefusedException, IOException {
        if (!registry.becomes(claim.id(), client, container, holder)) {
            throw new RefusedException(
                    "the reservation of "
                            + Refusals.command(claim, client)
                            + " was ended before it began ('jnvdocker gpu leases --all' says by"
                            + " whom); start it again");
        }
    }

    /** In the line. Its place stays when this daemon is stopped meanwhile. */
    private Claim waitFor(Leases.Request request, Waiting waiting, Optional<Claim> earlier)
            throws RefusedException, IOException {
        Ticket ticket = line.enter(request);
        try {
            if (earlier.isEmpty()) {
                // It may have a place of an earlier daemon, which allowed more.
                refuseTooLong(waiting);
            }
            Claim claim =
                    earlier.isPresent()
                            ? earlier.get()
                            : new Turn(request, waiting, ticket).await();
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

    /** Refuses claims from now on. What was given before is among the live leases. */
    void stop() {
        stopped = true;
    }

    /** Grants claims again. */
    void resume() {
        stopped = false;
    }

    private static RefusedException stoppedRefusal() {
        return new RefusedException(
                "jnvdocker is being uninstalled from this host, and no container gets GPUs of it"
                        + " any more; ask an administrator");
    }

    /** Gives back what was reserved for a client that does not become docker. */
    void cancel(Claim claim) throws IOException {
        Optional<Lease> lease = registry.liveOf(claim.id());
        if (lease.filter(Lease::isReservation).isPresent()) {
            String what = claim.isOfProcess() ? "its command" : claim.isOfTask() ? "it" : "docker";
            registry.end(lease.get(), what + " was not run");
        }
        if (!registry.hasVolume(claim.id())) {
            registry.forget(claim.id());
            files.delete(claim.id());
        }
    }

    /** Somebody's wait, until it is his turn and there is enough for him. */
    private final class Turn {
        private final Leases.Request request;
        private final Waiting waiting;
        private final Ticket ticket;
        private final Optional<Duration> limit;
        private final long began;
        private String said = "";

        Turn(Leases.Request request, Waiting waiting, Ticket ticket) {
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
                long freed = registry.changes().count();
                long moved = line.moves().count();
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
                    if (before.isEmpty()) {
                        pause(registry.changes(), freed, busy.leases());
                    } else {
                        // What becomes free is for those before, mostly; when one of them has it,
                        // the line moves.
                        pause(line.moves(), moved, List.of());
                    }
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
                                + (request.engine().equals(Claim.MESOS)
                                        ? "; start the task again later, or let the agent offer"
                                                + " fewer GPUs ('jnvdocker mesos flags')"
                                        : "; wait "
                                                + (longest.isEmpty() ? "longer" : "again")
                                                + " with --gpu-wait"));
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

        /** Until there is a change, or one of these leases is over, or a second. */
        private void pause(Changes changes, long seen, Collection<Lease> leases)
                throws IOException {
            for (int i = 0; i < LOOK_AGAIN && changes.count() == seen; i++) {
                pace.sleep(A_WHILE, changes, seen);
                if (Thread.currentThread().isInterrupted()) {
                    throw new IOException("the daemon is stopping");
                }
                if (!evidence.isAlive(request.client())) {
                    throw new ClientGoneException(request.client());
                }
                if (ender.isOver(leases)) {
                    return;
                }
            }
        }
    }

    /** One choice, made inside the registry's transaction. */
    private final class Choice {
        private final Leases.Request request;
        private final List<Ticket> before;
        private final List<GpuUse> seen;
        private RefusedException refusal;
        private GpuChoice.Busy busy;

        /**
         * @param before who waits and has come before
         */
        Choice(Leases.Request request, List<Ticket> before) throws IOException {
            this.request = request;
            this.before = before;
            seen = canHaveNone() ? List.of() : strangers.look(request.gpus(), Strangers.LIMIT);
        }

        /**
         * Many may wait, and to those who can't have any yet it does not matter who else uses them.
         * Whom their quota keeps from being served is not known yet.
         */
        private boolean canHaveNone() {
            Map<String, Ticket> kept = WaitingLine.keptFor(before, request.gpus());
            return request.waiting().isPresent()
                    && policy.maxGpusPerUser().isEmpty()
                    && request.gpus().stream().allMatch(gpu -> kept.containsKey(gpu.uuid()));
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
                                strangers.unmanaged(seen, holdings, policy),
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
            return new Claim(
                    Claim.newId(),
                    request.engine(),
                    request.owner(),
                    gpus.stream().map(ClaimedGpu::of).toList(),
                    request.image(),
                    holdings.now(),
                    Optional.empty());
        }
    }
}
