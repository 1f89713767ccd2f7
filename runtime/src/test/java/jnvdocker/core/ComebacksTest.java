package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.core.SimulatedClients.RunOptions;
import jnvdocker.core.SimulatedContainer.State;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.TestingLeases;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What an engine says of a container that has ended, and what that counts for. */
@Attack(
        by = "a fault",
        what =
                "an engine that is just starting lists no container, once or again and again,"
                        + " also while mounts cannot be read",
        result = "one answer ends no lease, several do, and none where the host itself cannot tell")
class ComebacksTest extends SimulatedWorldTest {
    private static final Duration STEP = Duration.ofMillis(50);

    /** The id of a container that podman has. */
    private static final String PODMANS = "f".repeat(64);

    @TempDir private Path directory;

    private SimulatedContainer train;

    @BeforeEach
    void run() throws IOException {
        world.clients.run(new RunOptions(new GpuRequest.Count(1), false, true, true, false));
        train = world.engine().containers.getLast();
        assertEquals(1, live().size());
    }

    private List<Lease> live() throws IOException {
        return world.daemon.parts().registry().live();
    }

    /** The engine notices an end, and answers the first question of the daemon. */
    private void end() throws IOException {
        world.engine().end(train, false, false);
        world.engine().handleEnd(train);
    }

    private void pass(Duration time) throws IOException {
        for (long left = time.toMillis(); left > 0; left -= STEP.toMillis()) {
            world.machine.pass(STEP);
            while (world.daemon.handleLater(0)) {
                world.machine.pass(Duration.ofMillis(1));
            }
        }
    }

    /** An engine that is just starting lists nothing. */
    @Test
    void oneEmptyListIsOneAnswer() throws IOException {
        end();
        world.engine().containers.remove(train);
        pass(STEP);
        world.engine().containers.add(train);
        assertEquals(State.RESTARTING, train.state);
        pass(Duration.ofSeconds(3));
        assertEquals(1, live().size());
        world.engine().stop(train, false, false);
        world.daemon.parts().keeper().sweep();
        pass(Duration.ofSeconds(1));
        assertEquals(List.of(), live());
    }

    /** A container that has the volumes of one that waits for its next start is its guest. */
    @Test
    void guestOfARestartingContainerTakesNoLease() throws IOException {
        Lease before = live().getFirst();
        world.daemon.parts().reconciler().reconcile();
        end();
        assertTrue(world.containers.share(0, false));
        SimulatedContainer guest = world.engine().containers.getLast();
        assertEquals(Optional.empty(), world.engine().start(guest, false));
        assertTrue(guest.guest);
        assertEquals(List.of(before.id()), live().stream().map(Lease::id).toList());
        assertEquals(Optional.empty(), world.engine().startAgain(train));
        assertFalse(train.guest);
        assertEquals(before.claim().gpus(), live().getFirst().claim().gpus());
        world.engine().stop(guest, false, false);
        world.daemon.parts().keeper().sweep();
        pass(Duration.ofSeconds(1));
        assertEquals(1, live().size());
    }

    /**
     * The container's first process ends, and another one of its processes lives on; another
     * container has its volumes.
     */
    private SimulatedContainer lingerBesideAGuest() throws IOException {
        world.daemon.parts().reconciler().reconcile();
        assertTrue(world.containers.share(0, false));
        assertTrue(world.containers.end(0, true));
        world.engine().handleEnd(train);
        assertEquals(State.RESTARTING, train.state);
        return world.engine().containers.getLast();
    }

    /** A container that its engine starts again is no guest of itself. */
    @Test
    void restartBesideAGuestHasTheLeaseOfWhatLivesOn() throws IOException {
        Lease before = live().getFirst();
        lingerBesideAGuest();
        assertEquals(Optional.empty(), world.engine().startAgain(train));
        assertFalse(train.guest);
        train.others.forEach(world.machine::end);
        world.daemon.parts().keeper().sweep();
        pass(Duration.ofSeconds(1));
        assertEquals(List.of(before.id()), live().stream().map(Lease::id).toList());
    }

    @Test
    void startBesideAGuestHasTheLeaseOfWhatLivesOn() throws IOException {
        Lease before = live().getFirst();
        lingerBesideAGuest();
        world.engine().stop(train, false, false);
        assertEquals(Optional.empty(), world.engine().start(train, false));
        assertFalse(train.guest);
        assertEquals(List.of(before.id()), live().stream().map(Lease::id).toList());
    }

    /** What lives on may be in the namespace that cannot be read. */
    @Test
    void restartBesideAGuestHasTheLeaseOfWhatTheHostCannotTell() throws IOException {
        Lease before = live().getFirst();
        world.daemon.parts().reconciler().reconcile();
        assertTrue(world.containers.share(0, false));
        world.machine.unread.add(world.machine.spawn());
        end();
        assertEquals(Optional.empty(), world.engine().startAgain(train));
        assertFalse(train.guest);
        assertEquals(List.of(before.id()), live().stream().map(Lease::id).toList());
    }

    @Test
    void guestOfARestartingContainerOfWhichSomethingLivesTakesNoLease() throws IOException {
        Lease before = live().getFirst();
        SimulatedContainer guest = lingerBesideAGuest();
        assertEquals(Optional.empty(), world.engine().start(guest, false));
        assertTrue(guest.guest);
        assertEquals(Optional.empty(), world.engine().startAgain(train));
        assertFalse(train.guest);
        assertEquals(List.of(before.id()), live().stream().map(Lease::id).toList());
    }

    /** Which of the two containers docker mounts the claim for cannot be told. */
    @Test
    void neitherOfTwoContainersThatStartAtOnceIsTheOthersGuest() throws IOException {
        SimulatedContainer guest = lingerBesideAGuest();
        guest.waiting = true;
        assertTrue(world.engine().startAgain(train).orElse("").contains("shares its claim"));
        assertFalse(train.guest);
    }

    @Test
    void emptyListThatIsRepeatedEndsTheLease() throws IOException {
        end();
        world.engine().containers.remove(train);
        pass(Duration.ofSeconds(1));
        assertEquals(List.of(), live());
    }

    /** What has the claim mounted may be in the namespace that cannot be read. */
    @Test
    void nothingThatAnEngineSaysCountsAgainstWhatTheHostCannotTell() throws IOException {
        world.machine.unread.add(world.machine.spawn());
        end();
        world.engine().containers.remove(train);
        for (int i = 0; i < 5; i++) {
            world.daemon.parts().keeper().sweep();
            pass(Duration.ofSeconds(5));
        }
        assertEquals(1, live().size());
        assertTrue(
                world.daemon
                        .parts()
                        .leases()
                        .holders()
                        .explain(live().getFirst())
                        .contains("not known"));
        world.machine.unread.clear();
        world.daemon.parts().keeper().sweep();
        pass(Duration.ofSeconds(1));
        assertEquals(List.of(), live());
    }

    /** A container that the engine has our OCI runtime create. */
    private SimulatedContainer containerOfTheOciRuntime() {
        SimulatedContainer.Settings settings =
                new SimulatedContainer.Settings(Map.of(), Optional.empty(), Map.of(), true, false);
        world.engine().create(settings, Map.of(), false);
        SimulatedContainer container = world.engine().containers.getLast();
        world.engine().start(container, false);
        return container;
    }

    /** The same, which holds a GPU. */
    private SimulatedContainer created() throws Exception {
        SimulatedContainer container = containerOfTheOciRuntime();
        begin(take(container), container);
        world.daemon.parts().reconciler().started(container.id);
        return container;
    }

    /** The same, with no other. */
    private SimulatedContainer createdAlone() throws Exception {
        world.engine().remove(train, true);
        world.daemon.parts().keeper().sweep();
        pass(Duration.ofSeconds(1));
        return created();
    }

    /** Begins podman's container, which is called job; returns its first process. */
    private ProcessId beginInPodman() throws Exception {
        Lease lease =
                take(new OciContainers.Container("/run/crun", PODMANS), "job", TestingLeases.ALICE);
        ProcessId init =
                world.machine.spawn(
                        Optional.of(lease.claim().id()), Optional.of("/machine/" + PODMANS));
        world.machine.end(lease.holder().process());
        assertTrue(world.daemon.parts().ociKeeper().check(lease, Optional.empty()));
        return init;
    }

    /** Any user of docker can call a container like one of podman. */
    @Test
    void containerOfThatNameIsNoWitness() throws Exception {
        ProcessId init = beginInPodman();
        train.name = PODMANS;
        world.machine.end(init);
        passAMinute();
        assertTrue(live().stream().noneMatch(it -> it.claim().isOfContainer(PODMANS)));
    }

    /** Podman's service ends when nobody has asked it for a while, and its commands go on. */
    @Test
    void podmanInDockersPlaceThatIsGoneKeepsNoGpu() throws Exception {
        world.engine().isPodman = true;
        SimulatedContainer job = world.engine().containers.getLast();
        Lease lease =
                take(
                        new OciContainers.Container("/run/crun", job.id),
                        job.name,
                        TestingLeases.ALICE);
        begin(lease, job);
        world.daemon.parts().reconciler().started(job.id);
        passAMinute();
        assertTrue(leaseOf(job).isPresent());
        endFirst(job);
        world.engine().finish(false);
        world.daemon.leave();
        passAMinute();
        assertEquals(Optional.empty(), leaseOf(job));
    }

    private void passAMinute() throws IOException {
        for (int i = 0; i < 12; i++) {
            world.daemon.parts().keeper().sweep();
            pass(Duration.ofSeconds(5));
        }
    }

    private Lease take(SimulatedContainer container) throws Exception {
        return take(container, TestingLeases.ALICE);
    }

    private Lease take(SimulatedContainer container, Owner owner) throws Exception {
        return take(
                new OciContainers.Container("/run/docker/runtime-runc/moby", container.id),
                container.name,
                owner);
    }

    private Lease take(OciContainers.Container container, String name, Owner owner)
            throws Exception {
        return TestingParts.take(
                world.daemon.parts(),
                TestingParts.creation(
                        container,
                        name,
                        Optional.of("cuda"),
                        world.machine.spawn(),
                        owner,
                        new GpuRequest.Count(1)),
                world.gpus());
    }

    private void begin(Lease lease, SimulatedContainer container) throws Exception {
        ProcessId init =
                world.machine.spawn(
                        Optional.of(lease.claim().id()), Optional.of(container.cgroup()));
        container.others.add(init);
        world.machine.end(lease.holder().process());
        assertTrue(world.daemon.parts().ociKeeper().check(lease, Optional.empty()));
    }

    private void endFirst(SimulatedContainer container) {
        container.others.forEach(world.machine::end);
        container.others.clear();
        world.engine().end(container, false, false);
    }

    private Optional<Lease> leaseOf(SimulatedContainer container) throws IOException {
        return live().stream()
                .filter(lease -> lease.claim().isOfContainer(container.id))
                .findFirst();
    }

    /** Docker doubles the time until it starts a container again that ends at once. */
    @Test
    void restartPolicyMayTakeItsTimeWithTheOciRuntime() throws Exception {
        SimulatedContainer web = created();
        Lease before = leaseOf(web).orElseThrow();
        endFirst(web);
        world.engine().handleEnd(web);
        assertEquals(State.RESTARTING, web.state);
        passAMinute();
        assertEquals(Optional.of(before.id()), leaseOf(web).map(Lease::id));
        assertEquals(before.claim().gpus(), take(web).claim().gpus());
        assertEquals(2, live().size());
    }

    /** What ends within milliseconds has run all the same, and its policy starts it again. */
    @Test
    void restartPolicyKeepsTheGpuOfWhatEndedUnseen() throws Exception {
        SimulatedContainer web = containerOfTheOciRuntime();
        Lease lease = take(web);
        Path pidFile = Files.writeString(directory.resolve("pid"), "7");
        assertFalse(world.daemon.parts().ociKeeper().check(lease, Optional.of(pidFile)));
        world.machine.end(lease.holder().process());
        world.engine().end(web, false, false);
        world.engine().handleEnd(web);
        assertEquals(State.RESTARTING, web.state);
        assertTrue(world.daemon.parts().ociKeeper().check(lease, Optional.of(pidFile)));
        passAMinute();
        assertEquals(lease.claim().gpus(), take(web).claim().gpus());
        assertEquals(2, live().size());
    }

    /** Docker gave up while no daemon ran, which starts the container once it does. */
    @Test
    void whatTheDaemonIsAboutToStartKeepsItsGpuForAMinute() throws Exception {
        for (boolean starts : new boolean[] {true, false}) {
            SimulatedContainer web = created();
            Lease lease = leaseOf(web).orElseThrow();
            endFirst(web);
            web.state = State.EXITED;
            web.error = "jnvdocker: no jnvdockerd answers at /run/jnvdocker/jnvdocker.sock";
            world.daemon.parts().keeper().sweep();
            pass(Duration.ofSeconds(30));
            assertEquals(Optional.of(lease.id()), leaseOf(web).map(Lease::id));
            String why = world.daemon.parts().leases().holders().explain(lease);
            assertTrue(why.contains("jnvdockerd starts it again"), why);
            if (starts) {
                assertEquals(lease.claim().gpus(), take(web).claim().gpus());
                world.engine().remove(web, true);
            } else {
                passAMinute();
                assertEquals(Optional.empty(), leaseOf(web));
            }
        }
    }

    /** Nothing ran of what the real runtime failed to create. */
    @Test
    void failedCreationKeepsNoGpuWithTheOciRuntime() throws Exception {
        SimulatedContainer web = containerOfTheOciRuntime();
        Lease lease = take(web);
        world.machine.end(lease.holder().process());
        Path none = directory.resolve("none");
        assertTrue(world.daemon.parts().ociKeeper().check(lease, Optional.of(none)));
        assertEquals(Optional.empty(), leaseOf(web));
    }

    /** Docker answers no question about a container whose runtime takes long to delete it. */
    @Test
    void restartMayTakeItsTimeWithTheOciRuntime() throws Exception {
        SimulatedContainer web = created();
        Lease before = leaseOf(web).orElseThrow();
        endFirst(web);
        world.engine().restart(web, true);
        world.daemon.parts().keeper().sweep();
        long begun = world.machine.nanos();
        while (world.machine.nanos() - begun < Duration.ofSeconds(20).toNanos()) {
            pass(STEP);
        }
        assertEquals(Optional.of(before.id()), leaseOf(web).map(Lease::id));
        assertEquals(before.claim().gpus(), take(web).claim().gpus());
    }

    @Test
    void stopEndsTheLeaseSoonAndRemovalAtOnceWithTheOciRuntime() throws Exception {
        SimulatedContainer web = created();
        endFirst(web);
        world.engine().stop(web, false, false);
        world.daemon.parts().keeper().sweep();
        assertTrue(leaseOf(web).isPresent());
        pass(Duration.ofMillis(400));
        assertEquals(Optional.empty(), leaseOf(web));

        SimulatedContainer other = created();
        endFirst(other);
        world.engine().remove(other, true);
        world.daemon.parts().reconciler().destroyed(other.id);
        assertEquals(Optional.empty(), leaseOf(other));
    }

    /** An engine that is just starting knows no container. */
    @Test
    void oneAnswerThatThereIsNoContainerIsOneWithTheOciRuntime() throws Exception {
        SimulatedContainer web = created();
        endFirst(web);
        world.engine().handleEnd(web);
        world.engine().containers.remove(web);
        world.daemon.parts().keeper().sweep();
        pass(STEP);
        world.engine().containers.add(web);
        pass(Duration.ofSeconds(3));
        assertTrue(leaseOf(web).isPresent());
    }

    /** The engine is down for five minutes, and the daemon is killed meanwhile. */
    private void stopEngine() throws IOException {
        world.engine().finish(false);
        world.daemon.leave();
        for (int i = 0; i < 60; i++) {
            if (i == 30) {
                world.daemon.kill();
                world.daemon.start();
            }
            world.daemon.parts().keeper().sweep();
            pass(Duration.ofSeconds(5));
        }
    }

    private void assertIsDown(Lease lease) throws IOException {
        assertEquals(List.of(lease.id()), live().stream().map(Lease::id).toList());
        assertEquals(GpuStatus.State.HELD, world.daemon.parts().leases().holders().state(lease));
        String why = world.daemon.parts().leases().holders().explain(lease);
        assertTrue(why.contains("its engine does not answer, and may start it again"), why);
    }

    @Test
    void engineThatIsDownEndsNoLease() throws IOException {
        Lease before = live().getFirst();
        stopEngine();
        assertIsDown(before);
        world.engine().begin(false);
        assertEquals(State.RUNNING, train.state);
        assertEquals(
                before.claim().gpus(), live().stream().findFirst().orElseThrow().claim().gpus());
        world.daemon.watch();
        world.daemon.parts().keeper().sweep();
        pass(Duration.ofSeconds(1));
        assertEquals(1, live().size());
    }

    /** A container without a restart policy is over when its engine says so. */
    @Test
    void engineThatIsBackEndsTheLeasesOfWhatItDoesNotStart() throws IOException {
        Lease before = live().getFirst();
        world.engine().update(train, false);
        stopEngine();
        assertIsDown(before);
        world.engine().begin(false);
        world.daemon.watch();
        pass(Duration.ofSeconds(1));
        assertEquals(List.of(), live());
    }

    @Test
    void engineThatIsDownEndsNoLeaseWithTheOciRuntime() throws Exception {
        SimulatedContainer web = createdAlone();
        Lease before = leaseOf(web).orElseThrow();
        endFirst(web);
        stopEngine();
        assertIsDown(before);
        assertEquals(before.claim().gpus(), take(web).claim().gpus());
        assertEquals(1, live().size());
    }

    /** Its data were removed, or the daemon queries another one now. */
    @Test
    void otherEngineInPlaceOfItsOwnEndsTheLease() throws IOException {
        stopEngine();
        world.switchEngine();
        world.engine().begin(false);
        world.daemon.watch();
        pass(Duration.ofSeconds(1));
        assertEquals(List.of(), live());
    }

    /** An engine may miss the end of a container, and then restart it. */
    @Test
    void containerWithoutProcessesThatItsEngineRunsKeepsItsLease() throws Exception {
        SimulatedContainer web = created();
        world.machine.end(web.init.orElseThrow());
        web.others.forEach(world.machine::end);
        passAMinute();
        assertEquals(State.RUNNING, web.state);
        assertTrue(leaseOf(web).isPresent());
    }

    /** What compose creates in place of another container, and starts when that is gone. */
    private SimulatedContainer successor(SimulatedContainer of) {
        SimulatedContainer.Settings settings =
                new SimulatedContainer.Settings(
                        Map.of("com.docker.compose.replace", of.name),
                        Optional.empty(),
                        Map.of(),
                        true,
                        false);
        world.engine().create(settings, Map.of(), false);
        SimulatedContainer successor = world.engine().containers.getLast();
        successor.name = of.id.substring(0, Math.min(12, of.id.length())) + "_" + of.name;
        return successor;
    }

    private void stop(SimulatedContainer container) throws IOException {
        endFirst(container);
        world.engine().stop(container, false, false);
        for (int i = 0; i < 2; i++) {
            world.daemon.parts().keeper().sweep();
            pass(Duration.ofSeconds(1));
        }
    }

    private void remove(SimulatedContainer container) throws IOException {
        world.engine().remove(container, true);
        world.daemon.parts().reconciler().destroyed(container.id);
        world.daemon.parts().keeper().sweep();
        pass(Duration.ofSeconds(30));
    }

    @Test
    void successorOfComposeGetsTheGpu() throws Exception {
        SimulatedContainer web = created();
        Lease before = leaseOf(web).orElseThrow();
        SimulatedContainer next = successor(web);
        stop(web);
        assertEquals(Optional.of(before.id()), leaseOf(web).map(Lease::id));
        remove(web);
        assertEquals(Optional.of(before.id()), leaseOf(web).map(Lease::id));
        String why = world.daemon.parts().leases().holders().explain(before);
        assertTrue(why.contains("compose is about to start another in its place"), why);
        next.name = web.name;
        pass(Duration.ofSeconds(30));
        assertEquals(before.claim().gpus(), take(next).claim().gpus());
        assertEquals(2, live().size());
    }

    /** Compose was interrupted, and its user removes what it has left. */
    @Test
    void removedSuccessorHasNoGpu() throws Exception {
        SimulatedContainer web = created();
        SimulatedContainer next = successor(web);
        stop(web);
        remove(web);
        assertTrue(leaseOf(web).isPresent());
        remove(next);
        assertEquals(Optional.empty(), leaseOf(web));
    }

    /** Compose was interrupted, and nobody removes what it has left. */
    @Test
    void successorThatIsNotStartedKeepsTheGpuForTenMinutes() throws Exception {
        SimulatedContainer web = created();
        successor(web);
        stop(web);
        remove(web);
        for (int i = 0; i < 8; i++) {
            passAMinute();
        }
        assertTrue(leaseOf(web).isPresent());
        for (int i = 0; i < 2; i++) {
            passAMinute();
        }
        assertEquals(Optional.empty(), leaseOf(web));
    }

    /** Any user of docker can label a container like the successor of one of podman's. */
    @Test
    void successorInAnotherEngineIsNone() throws Exception {
        ProcessId init = beginInPodman();
        successor(train).name = "job";
        world.machine.end(init);
        passAMinute();
        assertTrue(live().stream().noneMatch(it -> it.claim().isOfContainer(PODMANS)));
    }

    @Test
    void containerOfAnotherUserIsNoSuccessor() throws Exception {
        SimulatedContainer web = created();
        Lease before = leaseOf(web).orElseThrow();
        SimulatedContainer next = successor(web);
        stop(web);
        remove(web);
        next.name = web.name;
        assertNotEquals(before.claim().gpus(), take(next, TestingLeases.BOB).claim().gpus());
    }

    @Test
    void containerOfAnotherNameIsNoSuccessor() throws Exception {
        SimulatedContainer web = created();
        successor(web).name = web.name + "2";
        stop(web);
        assertEquals(Optional.empty(), leaseOf(web));
    }

    /** A daemon that has just started does not know yet whose the runtime's directory is. */
    @Test
    void successorGetsTheGpuThoughTheDaemonIsRestarted() throws Exception {
        SimulatedContainer web = createdAlone();
        Lease before = leaseOf(web).orElseThrow();
        SimulatedContainer next = successor(web);
        stop(web);
        remove(web);
        next.name = web.name;
        world.daemon.kill();
        world.daemon.start();
        world.daemon.watch();
        for (int i = 0; i < 3; i++) {
            world.daemon.parts().keeper().sweep();
            pass(Duration.ofSeconds(5));
        }
        assertEquals(before.claim().gpus(), take(next).claim().gpus());
    }

    /** The daemon was told to query another engine, and the old one goes on. */
    @Test
    void otherEngineIsNoWitnessWhileItsOwnLives() throws IOException {
        world.engine().end(train, false, false);
        world.daemon.leave();
        world.switchEngine();
        world.engine().begin(false);
        world.daemon.watch();
        passAMinute();
        assertEquals(1, live().size());
    }
}
