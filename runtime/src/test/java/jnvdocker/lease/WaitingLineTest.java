package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.container.GpuRequest;
import jnvdocker.host.Gpu;
import jnvdocker.process.ProcessId;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Who has a place in the line, and for how long. */
class WaitingLineTest {
    private static final Gpu GPU = TestingLeases.A;
    private static final SimulatedClients.RunOptions ALL =
            new SimulatedClients.RunOptions(new GpuRequest.All(), false, true, false, true);

    @TempDir Path folder;
    @TempDir Path state;
    private SimulatedMachine machine;
    private LeaseRegistry registry;
    private WaitingLine line;

    @BeforeEach
    void open() throws IOException {
        machine = new SimulatedMachine(folder, () -> {});
        registry = LeaseRegistry.open(folder, machine.bootId(), machine);
        line = WaitingLine.open(registry, new Evidence(machine, machine.bootId()), pace());
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

    private static Leases.Request request(ProcessId client, Owner owner) {
        GpuRequest one = new GpuRequest.Count(1);
        return new Leases.Request(
                one, List.of(GPU), true, owner, client, Claim.MESOS, "train", Optional.empty());
    }

    @Test
    void clientThatIsLostAndDeadHasNoPlace() throws IOException {
        ProcessId client = machine.spawn();
        Ticket ticket = line.enter(request(client, ALICE));
        machine.end(client);
        line.lose(ticket);
        assertEquals(List.of(), registry.tickets());
        assertEquals(List.of(), line.all());
    }

    @Test
    void clientThatIsLostAndLivesHasItsPlaceWhenItAsksAgain() throws IOException {
        ProcessId client = machine.spawn();
        Ticket first = line.enter(request(client, ALICE));
        Ticket second = line.enter(request(machine.spawn(), BOB));
        line.lose(first);
        machine.pass(Duration.ofSeconds(20));
        assertEquals(List.of(), line.before(second));
        assertEquals(first, line.enter(request(client, ALICE)));
        assertEquals(List.of(first), line.before(second));
    }

    @Test
    void nextDaemonKnowsWhatAPlaceIsForAndWhatItMayBeGiven() throws IOException {
        Ticket ticket = line.enter(request(machine.spawn(), ALICE));
        Evidence evidence = new Evidence(machine, machine.bootId());
        assertEquals(List.of(ticket), WaitingLine.open(registry, evidence, pace()).all());
        assertEquals(Set.of(GPU.uuid()), ticket.candidates());
        assertTrue(ticket.isOfTask());
        assertEquals("Mesos task train", Refusals.purpose(ticket));
    }

    @Test
    void whoIsBehindLooksAsSoonAsTheLineMoves() throws IOException {
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

    /** Nobody says that it has. */
    @Test
    void holderThatHasEndedIsNoticedBeforeTheNextLook() throws IOException {
        try (SimulatedWorld world = new SimulatedWorld(state)) {
            world.clients.claim(ALL);
            world.waiters.enter(ALL, Optional.empty());
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
            world.lab.configure(new SimulatedLab.Wish(0, 3, true, false));
            world.waiters.askAgain(0);
            world.check.nobodyWaits();
        }
    }
}
