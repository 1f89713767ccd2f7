package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.grant.Place;
import jnvdocker.grant.WaitingQueue;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.Changes;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/** The clients that have a place in the queue, and for how long. */
@Attack(
        by = "any user",
        what = "takes as many places of the queue as `max_waits_per_user` allows, as several users",
        result = "root, `sudo` included, and a user without a place still wait")
class WaitingQueueTest {
    private static final Gpu GPU = TestingLeases.A;
    private static final Owner ROOT = new Owner(0, "root");
    private static final SimulatedClients.RunOptions ALL =
            new SimulatedClients.RunOptions(new GpuRequest.All(), false, true, false, true);

    private static final SimulatedClients.RunOptions ONE =
            new SimulatedClients.RunOptions(new GpuRequest.Count(1), false, true, false, true);

    private final AtomicInteger scans = new AtomicInteger();

    @TempDir Path directory;
    @TempDir Path state;
    private SimulatedMachine machine;
    private LeaseRegistry registry;
    private WaitingQueue queue;

    @BeforeEach
    void open() throws IOException {
        machine = new SimulatedMachine(directory, scans::incrementAndGet);
        registry = LeaseRegistry.open(directory, machine.bootId(), machine, TestingLeases.RANDOM);
        queue =
                WaitingQueue.open(
                        registry,
                        new Evidence(machine, machine.bootId(), directory, List.of()),
                        () -> TestingLeases.POLICY,
                        pace());
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    private Pace pace() {
        return new Pace() {
            @Override
            public long nanos() {
                return machine.nanos();
            }

            @Override
            public void later(Duration delay, Runnable task) {
                throw new UnsupportedOperationException();
            }

            @Override
            public void sleep(Duration duration) {
                throw new UnsupportedOperationException();
            }

            @Override
            public void sleep(Duration longest, Changes changes, long seen) {
                throw new UnsupportedOperationException();
            }
        };
    }

    private static Request request(ProcessId client, Owner owner) {
        GpuRequest one = new GpuRequest.Count(1);
        return new Request(
                one,
                Set.of(GPU.uuid()),
                owner,
                client,
                new Origin.MesosTask("train"),
                Optional.empty());
    }

    private Place enter(Request request) throws IOException {
        try {
            return queue.enter(request, false, 0, Optional.empty());
        } catch (RefusedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void placeIsAsOldAsItIsWhenTheClockIsSet() throws IOException {
        Place place = enter(request(machine.spawn(), ALICE));
        Duration age = Duration.between(place.ticket().since(), registry.now());
        for (Duration set : List.of(Duration.ofHours(1), Duration.ofHours(-2))) {
            machine.setClock(set);
            registry.tickets();
            assertEquals(
                    List.of(registry.now().minus(age)),
                    queue.places().stream().map(it -> it.ticket().since()).toList());
        }
    }

    @Test
    void clientThatIsLostAndDeadHasNoPlace() throws IOException {
        ProcessId client = machine.spawn();
        Place place = enter(request(client, ALICE));
        machine.end(client);
        queue.lose(place);
        assertEquals(List.of(), registry.tickets());
        assertEquals(List.of(), queue.all());
    }

    @Test
    void clientThatIsLostAndLivesHasItsPlaceWhenItAsksAgain() throws IOException {
        ProcessId client = machine.spawn();
        Place first = enter(request(client, ALICE));
        Place second = enter(request(machine.spawn(), BOB));
        queue.lose(first);
        machine.pass(Duration.ofSeconds(20));
        assertEquals(List.of(second.ticket()), queue.all());
        assertEquals(first.ticket(), enter(request(client, ALICE)).ticket());
        assertEquals(List.of(first.ticket(), second.ticket()), queue.all());
    }

    @Test
    void nextDaemonKnowsThePurposeAndTheCandidatesOfAPlace() throws IOException {
        Ticket ticket = enter(request(machine.spawn(), ALICE)).ticket();
        Evidence evidence = new Evidence(machine, machine.bootId(), directory, List.of());
        assertEquals(
                List.of(ticket),
                WaitingQueue.open(registry, evidence, () -> TestingLeases.POLICY, pace()).all());
        assertEquals(Set.of(GPU.uuid()), ticket.requested().candidates());
        assertTrue(ticket.requested().scheduled());
        assertEquals("Mesos task train", LeaseText.purpose(ticket.request()));
    }

    @Test
    void clientsBehindAreCheckedAsSoonAsTheQueueMoves() throws IOException {
        try (SimulatedWorld world = new SimulatedWorld(state)) {
            world.clients.claim(ALL);
            world.waiters.enter(ALL, Optional.empty());
            world.waiters.enter(ALL, Optional.empty());
            for (int waiting = 2; waiting > 0; waiting--) {
                assertEquals(waiting, world.daemon.parts().registry().tickets().size());
                world.clients.hangUp(0);
                world.waiters.goOn(0, 1);
            }
            world.check.nobodyWaits();
        }
    }

    /** No event reports the end. */
    @Test
    void holderThatHasEndedIsNoticedBeforeTheNextScan() throws IOException {
        try (SimulatedWorld world = new SimulatedWorld(state)) {
            world.clients.claim(ALL);
            world.waiters.enter(ALL, Optional.empty());
            world.waiters.checkTheQueue();
            world.clients.die(0);
            world.waiters.goOn(0, 1);
            world.check.nobodyWaits();
        }
    }

    @Test
    void clientThatMayNotWaitSoLongAnyMoreHasNoPlace() throws IOException {
        try (SimulatedWorld world = new SimulatedWorld(state)) {
            world.clients.claim(ALL);
            world.waiters.enter(ALL, Optional.of(Duration.ofSeconds(20)));
            assertEquals(1, world.daemon.parts().registry().tickets().size());
            world.lab.configure(new SimulatedLab.Wish(0, 0, 3, true, false, false, false, false));
            world.waiters.retry(0);
            world.check.nobodyWaits();
        }
    }

    /** It is not among those that the host had when the wait began. */
    @Test
    void gpuThatAppearsIsGivenToAWaitingClient() throws IOException {
        try (SimulatedWorld world = new SimulatedWorld(state)) {
            world.gpus.unplug(2);
            world.clients.claim(ALL);
            world.waiters.enter(ONE, Optional.empty());
            world.gpus.plugIn();
            world.waiters.goOn(0, 25);
            world.check.nobodyWaits();
        }
    }

    @Test
    void waitingClientsDoNotCheckEachOther() throws IOException {
        for (int i = 0; i < 30; i++) {
            enter(request(machine.spawn(), ALICE));
        }
        int before = scans.get();
        for (int i = 0; i < 30; i++) {
            queue.all();
        }
        assertEquals(0, scans.get() - before);
    }

    @Test
    void deadClientIsFound() throws IOException {
        List<Place> places = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            places.add(enter(request(machine.spawn(), ALICE)));
        }
        machine.end(places.getLast().ticket().request().client());
        queue.checkClients();
        assertEquals(29, queue.all().size());
        assertEquals(29, registry.tickets().size());
    }

    @Test
    void higherPriorityComesFirstWhenEverItComes() throws Exception {
        Ticket low = enter(request(machine.spawn(), ALICE), -1);
        Ticket usual = enter(request(machine.spawn(), BOB), 0);
        Ticket high = enter(request(machine.spawn(), ALICE), 5);
        Ticket alsoHigh = enter(request(machine.spawn(), BOB), 5);
        List<Ticket> order = List.of(high, alsoHigh, usual, low);
        assertEquals(order, queue.all());
        assertEquals(List.of(high, alsoHigh, usual), queue.before(0));
        assertEquals(List.of(), queue.before(6));
        WaitingQueue next =
                WaitingQueue.open(
                        registry,
                        new Evidence(machine, machine.bootId(), directory, List.of()),
                        () -> TestingLeases.POLICY,
                        pace());
        assertEquals(order, next.all());
    }

    private Ticket enter(Request request, int priority) throws Exception {
        return queue.enter(request, false, priority, Optional.empty()).ticket();
    }

    /** Pids of this machine are few, and a place is its process's. */
    private void fill(int first, int places, Function<Integer, Owner> owners) throws Exception {
        for (int i = first; i < first + places; i++) {
            enter(request(new ProcessId(100_000 + i, 1), owners.apply(i)), 0);
        }
    }

    private String refusal(Request request) {
        return assertThrows(RefusedException.class, () -> enter(request, 0)).refusal().what();
    }

    @Test
    void queueIsBounded() throws Exception {
        fill(0, WaitingQueue.MOST, _ -> ROOT);
        assertEquals(
                "256 clients already wait for GPUs, the maximum",
                refusal(request(machine.spawn(), ROOT)));
    }

    @Test
    void userWhoHasNoPlaceGetsOneWhateverOthersHold() throws Exception {
        fill(0, 192, i -> List.of(ALICE, BOB).get(i % 2));
        assertEquals(
                "192 clients already wait for GPUs, the maximum for a user who has a place",
                refusal(request(machine.spawn(), ALICE)));
        Owner carol = new Owner(1003, "carol");
        enter(request(machine.spawn(), carol), 0);
        refusal(request(machine.spawn(), carol));
    }

    @Test
    void rootGetsAPlaceWhateverUsersHold() throws Exception {
        fill(0, 240, i -> new Owner(2000 + i, "user" + i));
        assertEquals(
                "240 clients already wait for GPUs, the maximum",
                refusal(request(machine.spawn(), ALICE)));
        queue.keepPlace(request(machine.spawn(), ALICE));
        assertEquals(240, registry.tickets().size());
        enter(request(machine.spawn(), ROOT), 0);
        Request sudo = run(machine.spawn(), ALICE);
        queue.enter(sudo, true, 0, Optional.empty());
        queue.enter(sudo, true, 0, Optional.empty());
        assertEquals(242, registry.tickets().size());
        refusal(run(machine.spawn(), ALICE));
    }

    /** The limit of each user, whom the kernel names, is not one of root's commands. */
    @Test
    void limitOfAUserIsNotOneOfSudo() throws Exception {
        int most = TestingLeases.POLICY.maxWaitsPerUser();
        for (int i = 0; i < most; i++) {
            enter(run(new ProcessId(100_000 + i, 1), ALICE), 0);
        }
        assertTrue(
                refusal(run(machine.spawn(), ALICE))
                        .startsWith("alice already has " + most + " waiting clients"));
        queue.enter(run(machine.spawn(), ALICE), true, 0, Optional.empty());
        enter(run(machine.spawn(), BOB), 0);
    }

    private static Request run(ProcessId client, Owner owner) {
        return new Request(
                new GpuRequest.Count(1),
                Set.of(GPU.uuid()),
                owner,
                client,
                new Origin.HostProcess("train"),
                Optional.empty());
    }

    /** Its process is stopped, and cannot be notified. */
    @Test
    void clientThatStaysPastItsTimeKeepsNobodyWaiting() throws Exception {
        Place place =
                queue.enter(
                        request(machine.spawn(), ALICE),
                        false,
                        0,
                        Optional.of(Duration.ofSeconds(10)));
        machine.pass(Duration.ofSeconds(10));
        assertEquals(List.of(place.ticket()), queue.all());
        machine.pass(Duration.ofSeconds(2));
        assertEquals(List.of(), queue.all());
    }

    @Test
    void clientThatDiedWithoutADaemonHasNoPlace() throws IOException {
        Ticket first = enter(request(machine.spawn(), ALICE)).ticket();
        Ticket second = enter(request(machine.spawn(), BOB)).ticket();
        machine.end(first.request().client());
        Evidence evidence = new Evidence(machine, machine.bootId(), directory, List.of());
        WaitingQueue next =
                WaitingQueue.open(registry, evidence, () -> TestingLeases.POLICY, pace());
        assertEquals(List.of(second), next.all());
        assertEquals(List.of(second), registry.tickets());
    }
}
