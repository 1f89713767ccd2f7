package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.container.Allocation;
import jnvdocker.grant.Waiting;
import jnvdocker.host.Gpu;
import jnvdocker.idle.IdleHolders;
import jnvdocker.idle.IdleTicks;
import jnvdocker.keeper.OverdueTicks;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Connections;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.lease.Ticket;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.AllowanceReader;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;

/**
 * A day of a lab with thirty students and eight GPUs, minute by minute, on the real parts that give
 * out GPUs. The same plan has the same course, and {@link LabDayCheck} checks each minute of it.
 */
public final class LabDay
        implements SimulatedDaemon.Surroundings, SimulatedEngine.Listener, AutoCloseable {
    /** Enough that nobody runs out of them. */
    private static final int PIDS = 400;

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    final LeasePolicy policy;
    final List<Gpu> gpus;
    final SimulatedMachine machine;
    final SimulatedDaemon daemon;
    final List<Session> running = new ArrayList<>();
    final List<Waiter> waiting = new ArrayList<>();
    final Instant begin;
    private final SimulatedEngine engine;
    private final IdleTicks idle;
    private final List<LabPlan.Session> plan;
    private final LabDayCheck check = new LabDayCheck(this);

    /** The containers that the daemon has stopped, on threads of its own. */
    private final Queue<String> stopped = new ConcurrentLinkedQueue<>();

    private int minute;
    private int refused;
    private int begun;

    /** A container that runs. */
    record Session(
            LabPlan.Session planned,
            SimulatedContainer container,
            Claim claim,
            int began,
            int until) {
        boolean computes(int now) {
            return now < began + planned.active();
        }
    }

    /** A {@code jnvdocker run --gpu-wait}. */
    final class Waiter {
        final LabPlan.Session planned;
        final ProcessId client = machine.spawn();
        final int since = minute;
        private final SteppedThread thread = daemon.thread(this::request);
        private Optional<Claim> claim = Optional.empty();
        private Optional<String> refusal = Optional.empty();

        private Waiter(LabPlan.Session planned) {
            this.planned = planned;
        }

        private void request() throws IOException {
            try {
                Request request = LabDay.this.request(planned, client);
                Waiting waiting = new Waiting(Optional.empty(), _ -> {});
                claim = daemon.parts().leases().runs().take(request, Optional.of(waiting)).keep();
            } catch (RefusedException e) {
                refusal = Optional.of(e.getMessage());
            }
        }
    }

    /**
     * @param state an empty directory
     * @param gpus of the host, all of the same memory
     * @param policy of the configuration
     * @param begin when the day begins
     */
    public LabDay(Path state, List<Gpu> gpus, LeasePolicy policy, Instant begin)
            throws IOException {
        this.gpus = List.copyOf(gpus);
        this.policy = policy;
        this.begin = begin;
        plan = LabPlan.sessions();
        machine = new SimulatedMachine(state, () -> {}, PIDS, begin);
        daemon = new SimulatedDaemon(state, machine, this);
        engine = new SimulatedEngine("engine", 0, machine, daemon, this);
        daemon.start();
        engine.begin(true);
        daemon.watch();
        idle =
                IdleTicks.of(
                        daemon.parts(),
                        () -> this.gpus,
                        uses(),
                        machine,
                        lease -> stop(lease.claim()));
    }

    /** The real parts. */
    public LeaseParts parts() {
        return daemon.parts();
    }

    /** Returns what is known of idle holders. */
    public IdleHolders idle() {
        return idle.holders();
    }

    /** How many containers have begun until now. */
    public int begun() {
        return begun;
    }

    /** How many requests were refused until now. */
    public int refused() {
        return refused;
    }

    /**
     * Goes on to a minute of the day.
     *
     * @param until counted from the beginning
     */
    public void goOn(int until) throws IOException {
        while (minute < until) {
            minute++;
            check.minute(minute);
            Instant now = begin.plus(Duration.ofMinutes(minute));
            machine.pass(Duration.between(machine.instant(), now));
            happen();
            check.after(minute);
        }
    }

    /** Lets a part of a minute pass, in which nothing happens. */
    public void pass(Duration time) {
        machine.pass(time);
    }

    private void happen() throws IOException {
        for (Session session : List.copyOf(running)) {
            if (session.until() <= minute) {
                end(session);
            }
        }
        idle.tick();
        OverdueTicks.tick(parts().stops());
        stopOverdue();
        settle();
        for (LabPlan.Booking booking : LabPlan.bookings()) {
            if (booking.minute() == minute) {
                book(booking);
            }
        }
        for (LabPlan.Session session : plan) {
            if (session.minute() == minute) {
                arrive(session);
            }
        }
        serve();
        settle();
    }

    private void book(LabPlan.Booking booking) throws IOException {
        try {
            parts().leases()
                    .bookings()
                    .book(
                            new GpuRequest.Count(booking.gpus()),
                            booking.owner(),
                            begin.plus(Duration.ofMinutes(booking.from())),
                            Duration.ofMinutes(booking.minutes()),
                            false);
        } catch (RefusedException e) {
            throw new AssertionError(e);
        }
    }

    private void arrive(LabPlan.Session planned) throws IOException {
        if (planned.waits()) {
            waiting.add(new Waiter(planned));
            return;
        }
        ProcessId client = machine.spawn();
        try {
            Claim claim =
                    parts().leases()
                            .runs()
                            .take(request(planned, client), Optional.empty())
                            .keep()
                            .orElseThrow();
            start(planned, client, claim);
        } catch (RefusedException e) {
            refused++;
            check.refused(planned, e.getMessage());
            machine.end(client);
        }
    }

    private Request request(LabPlan.Session planned, ProcessId client) {
        return new Request(
                planned.request(),
                Set.of(),
                planned.owner(),
                client,
                new Origin.EngineContainer(engine.id, Optional.of(planned.image())),
                planned.time());
    }

    /** Serves the queue until nobody in it can be served. */
    private void serve() throws IOException {
        boolean served = true;
        while (served) {
            daemon.perform("queue", parts().queueKeeper()::tick);
            served = false;
            for (Waiter waiter : List.copyOf(waiting)) {
                daemon.goOn("wait", waiter.thread);
                if (!waiter.thread.isOver()) {
                    continue;
                }
                waiting.remove(waiter);
                served = true;
                if (waiter.claim.isPresent()) {
                    start(waiter.planned, waiter.client, waiter.claim.get());
                } else {
                    refused++;
                    check.refused(waiter.planned, waiter.refusal.orElseThrow());
                    machine.end(waiter.client);
                }
            }
        }
    }

    private void start(LabPlan.Session planned, ProcessId client, Claim claim) throws IOException {
        Allocation allocation;
        try {
            allocation = parts().leases().runs().allocation(claim, gpus);
        } catch (RefusedException e) {
            throw new AssertionError(e);
        }
        var mount = allocation.mounts().getFirst();
        assertEquals(
                Optional.empty(),
                engine.create(
                        new SimulatedContainer.Settings(
                                allocation.labels(),
                                Optional.of(mount.volume()),
                                SimulatedContainer.gpus(claim),
                                false,
                                true),
                        Map.of(),
                        false));
        SimulatedContainer container = engine.containers.getLast();
        container.name = planned.name();
        assertEquals(Optional.empty(), engine.start(container, false));
        machine.end(client);
        Session session =
                new Session(planned, container, claim, minute, minute + planned.minutes());
        running.add(session);
        begun++;
        check.began(session);
    }

    private void end(Session session) {
        engine.end(session.container(), false, false);
        engine.handleEnd(session.container());
        running.remove(session);
        check.ended(session);
    }

    private void stop(Claim claim) {
        running.stream()
                .filter(session -> session.claim().id().equals(claim.id()))
                .findFirst()
                .ifPresent(this::end);
    }

    /** The daemon has the holders of overdue leases stopped. */
    private void stopOverdue() throws IOException {
        Instant deadline = Instant.now().plus(PATIENCE);
        for (Lease lease : parts().registry().live()) {
            if (!lease.isOverdue(machine.instant())) {
                continue;
            }
            String id = lease.claim().container().orElseThrow().id();
            while (!stopped.contains(id)) {
                assertTrue(Instant.now().isBefore(deadline), () -> "is not stopped: " + lease);
                Thread.onSpinWait();
            }
            stop(lease.claim());
        }
    }

    private void settle() throws IOException {
        while (daemon.handleEvent(0, false) || daemon.handleLater(0)) {
            machine.pass(Duration.ofMillis(300));
        }
    }

    @Override
    public boolean stop(String container) {
        return stopped.add(container);
    }

    @Override
    public AllowanceReader.Groups groups() {
        return (uid, among, _) ->
                among.contains(LabPlan.groupOf(uid)) ? Set.of(LabPlan.groupOf(uid)) : Set.of();
    }

    @Override
    public SimulatedEngine engine() {
        return engine;
    }

    @Override
    public List<Gpu> gpus() {
        return gpus;
    }

    @Override
    public GpuTraits traits() {
        return new GpuTraits(
                Connections.UNKNOWN,
                gpus.stream().collect(Collectors.toMap(Gpu::uuid, _ -> LabPlan.MEMORY)));
    }

    @Override
    public LeasePolicy policy() {
        return policy;
    }

    @Override
    public GpuUses uses() {
        return new Seen();
    }

    /** The programs of the containers that compute. */
    private final class Seen implements GpuUses {
        @Override
        public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
            return scanWithoutEngine(gpus);
        }

        @Override
        public List<GpuUse> scanWithoutEngine(List<Gpu> some) {
            List<GpuUse> uses = new ArrayList<>();
            for (Session session : running) {
                for (Gpu gpu : some) {
                    if (session.computes(minute)
                            && session.claim().gpus().stream().anyMatch(it -> it.isStill(gpu))) {
                        uses.add(use(session, gpu));
                    }
                }
            }
            return uses;
        }

        private static GpuUse use(Session session, Gpu gpu) {
            GpuUse.User user =
                    new GpuUse.User(
                            session.container().init.orElseThrow(),
                            "python3",
                            session.planned().owner().uid(),
                            Optional.of(session.container().id));
            return new GpuUse(gpu, GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user));
        }
    }

    /** The clients that wait, the first to be served first. */
    List<Ticket> queue() throws IOException {
        return parts().registry().tickets().stream().sorted(Ticket.ORDER).toList();
    }

    /** The index of a GPU of a claim. */
    static List<Integer> indexes(Claim claim) {
        return claim.gpus().stream().map(ClaimedGpu::index).toList();
    }

    @Override
    public Optional<String> startRefused(String container) {
        throw new AssertionError("was not refused: " + container);
    }

    @Override
    public void mount(String volume, SimulatedDaemon.Task mount) throws Exception {
        mount.perform();
    }

    @Override
    public void say(String what) {}

    @Override
    public void moment() {}

    @Override
    public void happened(SimulatedEngine.Event event) {
        daemon.reported(event);
    }

    @Override
    public void mounted(SimulatedContainer container) {}

    @Override
    public void close() throws IOException {
        daemon.kill();
    }
}
