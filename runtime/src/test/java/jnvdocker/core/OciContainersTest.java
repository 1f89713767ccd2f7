package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciCreation;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuAccess;
import jnvdocker.use.MemoryUsers;
import jnvdocker.use.RunningContainer;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;

/** The leases of containers that our OCI runtime creates. */
@Attack(
        by = "a member",
        what = "releases their own container by force while it is being created",
        result = "refused; it has already received its GPUs")
class OciContainersTest extends SimulatedWorldTest {
    private static final String ROOT = "/run/docker/runtime-runc/moby";
    private static final Duration GRACE = Duration.ofMillis(250);

    private LeaseParts parts() {
        return world.daemon.parts();
    }

    private List<Lease> live() throws IOException {
        return parts().leases().live();
    }

    private static OciContainers.Container named(String id) {
        return new OciContainers.Container(ROOT, id);
    }

    private OciCreation creation(String id, GpuRequest request, ProcessId process) {
        return TestingParts.creation(
                named(id), "name-" + id, Optional.of("cuda"), process, Owner.UNKNOWN, request);
    }

    private Lease query(String id, int gpus) throws Exception {
        return query(id, new GpuRequest.Count(gpus));
    }

    private static OciCreation reserved(OciCreation creation, Claim claim) {
        return new OciCreation(creation.request(), creation.id(), Optional.of(claim.id()));
    }

    private Lease take(OciCreation creation) throws Exception {
        return TestingParts.take(parts(), creation, world.gpus());
    }

    private Lease query(String id, GpuRequest request) throws Exception {
        return take(creation(id, request, world.machine.spawn()));
    }

    /** The real runtime creates the container, and ends. */
    private ProcessId begin(Lease lease) throws Exception {
        ProcessId init = spawn(lease);
        world.machine.end(lease.holder().process());
        assertTrue(parts().ociKeeper().check(lease, Optional.empty()));
        return init;
    }

    private ProcessId spawn(Lease lease) {
        String container = lease.claim().container().orElseThrow().id();
        return world.machine.spawn(
                Optional.of(lease.claim().id()), Optional.of("/docker/" + container));
    }

    private static List<String> uuids(Lease lease) {
        return lease.claim().gpus().stream().map(ClaimedGpu::uuid).toList();
    }

    /** Checks the leases, then lets time pass. */
    private void pass(Duration time) throws IOException {
        live();
        world.machine.pass(time);
        while (world.daemon.handleLater(0)) {
            world.machine.pass(Duration.ofMillis(1));
        }
    }

    @Test
    void isReservedUntilTheFirstProcessIsThere() throws Exception {
        Lease requested = query("a", 1);
        assertEquals(GpuStatus.State.RESERVED, parts().leases().holders().state(requested));
        assertEquals("somebody's container name-a", LeaseText.holder(requested));
        ProcessId init = begin(requested);
        Lease lease = live().getFirst();
        assertEquals(GpuStatus.State.HELD, parts().leases().holders().state(lease));
        assertEquals(requested.id(), lease.id());
        world.machine.end(init);
        assertEquals(1, live().size());
        pass(GRACE);
        assertEquals(List.of(), live());
        assertEquals(List.of(), parts().registry().claims().all());
    }

    /** A removed one cannot start again. One that runs is not over, whatever its engine reports. */
    @Test
    void removedContainerFreesItsGpusAtOnce() throws Exception {
        ProcessId init = begin(query("a", 1));
        begin(query("b", 1));
        parts().reconciler().destroyed("a");
        assertEquals(2, live().size());
        world.machine.end(init);
        parts().reconciler().destroyed("c");
        assertEquals(2, live().size());
        parts().reconciler().destroyed("a");
        assertEquals(1, live().size());
        assertEquals("name-b", live().getFirst().claim().container().orElseThrow().name());
    }

    /** A container that needs more than its predecessor had waits like any other. */
    @Test
    void predecessorIsOneWhoseGpusSuffice() throws Exception {
        world.machine.end(begin(query("a", 1)));
        for (int gpus : List.of(1, 2)) {
            OciCreation next =
                    TestingParts.creation(
                            named("b"),
                            "name-a",
                            Optional.of("cuda"),
                            world.machine.spawn(),
                            Owner.UNKNOWN,
                            new GpuRequest.Count(gpus));
            assertEquals(gpus == 1, parts().oci().hasPredecessor(next));
        }
    }

    @Test
    void twoGetDifferentOnesAndTheNextIsRefusedByName() throws Exception {
        int all = world.gpus().size();
        Lease one = query("a", 1);
        begin(one);
        Lease rest = query("b", all - 1);
        begin(rest);
        assertTrue(uuids(one).stream().noneMatch(uuids(rest)::contains));
        var error = assertThrows(RefusedException.class, () -> query("c", 1));
        assertTrue(error.getMessage().contains("container name-a"), error::getMessage);
    }

    @Test
    void creationThatFailsGivesThemBackAtOnce() throws Exception {
        Lease lease = query("a", 1);
        assertTrue(!parts().ociKeeper().check(lease, Optional.empty()));
        world.machine.end(lease.holder().process());
        assertTrue(parts().ociKeeper().check(lease, Optional.empty()));
        assertEquals(List.of(), live());
    }

    @Test
    void sameCreationGetsTheSameLeaseAgain() throws Exception {
        ProcessId process = world.machine.spawn();
        OciCreation creation = creation("a", new GpuRequest.Count(1), process);
        Lease lease = take(creation);
        world.daemon.kill();
        world.daemon.start();
        assertEquals(lease.id(), take(creation).id());
        assertEquals(1, live().size());
    }

    @Test
    void restartWithinAMomentHasTheSameAndNobodyGetsInBetween() throws Exception {
        Lease before = query("a", 1);
        world.machine.end(begin(before));
        assertEquals(1, live().size());
        Lease again = query("a", 1);
        assertEquals(uuids(before), uuids(again));
        assertNotEquals(before.claim().id(), again.claim().id());
        begin(again);
        pass(GRACE);
        assertEquals(List.of(again.id()), live().stream().map(Lease::id).toList());
    }

    /** The GPUs are read once more after they were given. */
    @Test
    void creationIsRefusedWhoseGpuIsReleasedMeanwhile(@TempDir Path other) throws Exception {
        SimulatedMachine machine = new SimulatedMachine(other, () -> {});
        AtomicReference<LeaseParts> parts = new AtomicReference<>();
        parts.set(
                TestingParts.open(
                        other,
                        machine,
                        TestingLeases.NO_USES,
                        _ -> {
                            releaseAll(parts.get());
                            return Optional.empty();
                        },
                        MemoryUsers.UNKNOWN,
                        TestingLeases.A));
        try (LeaseParts opened = parts.get()) {
            OciCreation creation = creation("a", new GpuRequest.Count(1), machine.spawn());
            RefusedException why =
                    assertThrows(
                            RefusedException.class,
                            () -> TestingParts.take(opened, creation, List.of(TestingLeases.A)));
            assertTrue(why.getMessage().contains(" was released by force"), why.getMessage());
            assertEquals(List.of(), opened.leases().live());
            assertEquals(List.of(), new ClaimFiles(other).ids());
        }
    }

    private static void releaseAll(LeaseParts parts) {
        try {
            for (Lease lease : parts == null ? List.<Lease>of() : parts.registry().live()) {
                parts.leases().releases().byForce(lease.claim().id(), "root");
            }
        } catch (RefusedException | IOException e) {
            throw new AssertionError(e);
        }
    }

    /** It goes on: a cordon is for others. */
    @Test
    void restartKeepsAGpuThatIsCordoned() throws Exception {
        Lease before = query("a", 1);
        world.machine.end(begin(before));
        parts().leases().cordons().add(world.gpus(), TestingLeases.BOB, "fan");
        Lease again = query("a", 1);
        assertEquals(uuids(before), uuids(again));
        world.machine.end(begin(again));
        pass(GRACE);
        assertThrows(RefusedException.class, () -> query("a", 1));
    }

    /** A sweep that ends the last start's lease may come at any moment of the next start. */
    @Test
    void leaseOfTheLastStartMayEndWhileTheNextIsDecidedOn() throws Exception {
        for (int moment = 0; moment < 16; moment++) {
            Lease before = query("a", 1);
            world.machine.end(begin(before));
            live();
            world.course.during(
                    moment,
                    _ -> {
                        pass(GRACE);
                        return true;
                    });
            AtomicReference<Lease> again = new AtomicReference<>();
            assertTimeoutPreemptively(
                    Duration.ofSeconds(20),
                    () -> world.daemon.perform("start", () -> again.set(query("a", 1))));
            world.course.calm();
            assertEquals(uuids(before), uuids(again.get()), "moment " + moment);
            assertEquals(List.of(again.get().id()), live().stream().map(Lease::id).toList());
            world.machine.end(begin(again.get()));
            pass(GRACE);
        }
    }

    @Test
    void otherContainerWaitsThatMoment() throws Exception {
        world.machine.end(begin(query("a", 1)));
        long begun = world.machine.nanos();
        query("b", world.gpus().size());
        assertTrue(world.machine.nanos() - begun >= GRACE.toNanos());
    }

    /** Reserves GPUs as {@code jnvdocker run} does before docker creates the container. */
    private Claim reserve(ProcessId client, GpuRequest request) throws Exception {
        return parts().leases()
                .runs()
                .take(
                        new Request(
                                request,
                                Set.of(),
                                TestingLeases.ALICE,
                                client,
                                new Origin.OciContainer("", Optional.of("cuda")),
                                Optional.empty()),
                        Optional.empty())
                .keep()
                .orElseThrow();
    }

    /** The GPUs were not given back, so waiting clients do not get them. */
    @Test
    void restartWithinAMomentAndReservationComeBeforeTheQueue() throws Exception {
        ProcessId client = world.machine.spawn();
        GpuRequest all = new GpuRequest.Count(world.gpus().size());
        Claim reserved = reserve(client, all);
        world.waiters.enter(
                new SimulatedClients.RunOptions(new GpuRequest.All(), false, true, false, false),
                Optional.empty());
        assertEquals(1, parts().registry().tickets().size());
        Lease first =
                take(
                        reserved(
                                TestingParts.creation(
                                        named("a"),
                                        "train",
                                        Optional.of("cuda"),
                                        world.machine.spawn(),
                                        TestingLeases.ALICE,
                                        all),
                                reserved));
        assertEquals(world.gpus().size(), first.claim().gpus().size());
        world.machine.end(begin(first));
        Lease again = query("a", all);
        assertEquals(uuids(first), uuids(again));
        begin(again);
        assertEquals(1, parts().registry().tickets().size());
    }

    @Test
    void laterStartHasTheSameIfItIsFreeAndElseAnother() throws Exception {
        Lease first = query("a", 1);
        world.machine.end(begin(first));
        pass(GRACE);
        assertEquals(List.of(), live());
        Lease other = query("b", 1);
        world.machine.end(begin(other));
        pass(GRACE);
        Lease second = query("a", 1);
        assertEquals(uuids(first), uuids(second));
        world.machine.end(begin(second));
        pass(GRACE);
        String gpu = uuids(first).getFirst();
        begin(query("c", new GpuRequest.Devices(List.of(gpu))));
        assertNotEquals(uuids(first), uuids(query("a", 1)));
    }

    /** As a hook reports it: the next start's first process is where the last one's was. */
    @Test
    void startWhoseFirstProcessIsThereEndsTheLastOneUnlessSomethingOfThatIsLeft() throws Exception {
        ProcessId first = spawnIn("a");
        Lease before = hooked(first);
        world.machine.end(first);
        ProcessId left = spawnIn("a");
        ProcessId next = spawnIn("a");
        var error = assertThrows(RefusedException.class, () -> hooked(next));
        assertTrue(error.getMessage().contains("this very container"), error::getMessage);
        world.machine.end(left);
        Lease after = hooked(next);
        assertEquals(uuids(before), uuids(after));
        assertEquals(List.of(after.id()), live().stream().map(Lease::id).toList());
        pass(GRACE);
        assertEquals(1, live().size());
        world.machine.end(next);
        pass(GRACE);
        assertEquals(List.of(), live());
    }

    private ProcessId spawnIn(String container) {
        return world.machine.spawn(Optional.empty(), Optional.of("/docker/" + container));
    }

    private Lease hooked(ProcessId init) throws Exception {
        ProcessId hook = world.machine.spawn();
        Lease lease =
                parts().oci()
                        .take(creation("a", new GpuRequest.Count(1), hook), init.pid())
                        .keep()
                        .orElseThrow();
        assertTrue(parts().ociKeeper().begin(lease, init.pid()));
        world.machine.end(hook);
        return parts().registry().liveOf(lease.claim().id()).orElseThrow();
    }

    @Test
    void sameIdUnderAnotherRootIsAnotherContainer() throws Exception {
        begin(query("a", 1));
        OciCreation other =
                TestingParts.creation(
                        new OciContainers.Container("", "a"),
                        "a",
                        Optional.empty(),
                        world.machine.spawn(),
                        Owner.UNKNOWN,
                        new GpuRequest.Count(1));
        take(other);
        assertEquals(2, live().size());
    }

    @Test
    void startBesideALivingOneIsRefused() throws Exception {
        begin(query("a", 1));
        var error = assertThrows(RefusedException.class, () -> query("a", 1));
        assertTrue(error.getMessage().contains("this very container"), error::getMessage);
    }

    @Test
    void leaseLivesAsLongAsAnythingInTheCgroup() throws Exception {
        Lease lease = query("a", 1);
        ProcessId init = begin(lease);
        ProcessId left = world.machine.spawn(Optional.empty(), Optional.of("/docker/a"));
        world.machine.end(init);
        pass(GRACE);
        assertEquals(1, live().size());
        world.machine.end(left);
        assertEquals(1, live().size());
        pass(GRACE);
        assertEquals(List.of(), live());
    }

    /** Starts a process of another container that has the directory of a lease's claim mounted. */
    private ProcessId mountsInAnother(Lease lease) {
        return world.machine.spawn(Optional.of(lease.claim().id()), Optional.of("/docker/b"));
    }

    /** Any user of an engine can have it mount a claim's directory in any container. */
    @Test
    void claimMountedInAnotherContainerIsNoEvidence() throws Exception {
        Lease lease = query("a", 1);
        ProcessId init = begin(lease);
        ProcessId other = mountsInAnother(lease);
        ProcessId moved = world.machine.spawn(Optional.of(lease.claim().id()), Optional.empty());
        world.machine.end(init);
        pass(GRACE);
        assertEquals(List.of(lease.id()), live().stream().map(Lease::id).toList());
        world.machine.end(moved);
        pass(GRACE);
        assertEquals(List.of(), live());
        assertTrue(world.machine.lives(other));
    }

    /** Its own process has gone, and so no other that has mounted the claim is its first. */
    @Test
    void scanAfterTheEndTakesNoOtherContainerForTheHolder() throws Exception {
        Lease lease = query("a", 1);
        ProcessId init = begin(lease);
        ProcessId other = mountsInAnother(lease);
        world.machine.end(init);
        parts().reconciler().reconcile();
        pass(GRACE);
        assertEquals(List.of(), live());
        assertTrue(world.machine.lives(other));
    }

    @Test
    void scanDuringACreationTakesNoOtherContainerForTheHolder() throws Exception {
        Lease lease = query("a", 1);
        mountsInAnother(lease);
        parts().reconciler().reconcile();
        ProcessId init = begin(lease);
        assertEquals(
                Holder.of(lease.holder().process(), Optional.of(init), Optional.of("/docker/a")),
                live().getFirst().holder());
        world.machine.end(init);
        pass(GRACE);
        assertEquals(List.of(), live());
    }

    /** At that moment its cgroup cannot be read any more, while others of the container live. */
    @Test
    void firstProcessThatEndsWhileItIsMetLeavesTheLeaseToTheNext() throws Exception {
        for (int moment = 0; moment < 8; moment++) {
            Lease lease = query("a", 1);
            ProcessId init = spawn(lease);
            ProcessId child = spawn(lease);
            world.machine.end(lease.holder().process());
            world.course.during(
                    moment,
                    _ -> {
                        world.machine.end(init);
                        return true;
                    });
            world.daemon.perform(
                    "meet",
                    () -> {
                        while (!parts().ociKeeper().check(lease, Optional.empty())) {
                            world.machine.pass(Duration.ofMillis(5));
                        }
                    });
            world.course.calm();
            assertEquals(
                    Optional.of("/docker/a"),
                    live().getFirst().holder().cgroup(),
                    "moment " + moment);
            world.machine.end(init);
            world.machine.end(child);
            pass(GRACE);
            assertEquals(List.of(), live());
        }
    }

    /** The event of a rename may be missing. */
    @Test
    void nameIsTheOneThatTheEngineListsForItsId() throws Exception {
        begin(query("a", 1));
        begin(query("b", 1));
        List<RunningContainer> running = new ArrayList<>();
        for (String id : List.of("a", "c")) {
            running.add(
                    new RunningContainer(
                            id,
                            "new-" + id,
                            "cuda",
                            Optional.empty(),
                            Map.of(),
                            List.of(),
                            GpuAccess.NONE));
        }
        parts().reconciler().named(running);
        assertEquals(
                List.of("new-a", "name-b"),
                live().stream().map(it -> it.claim().container().orElseThrow().name()).toList());
    }

    @Test
    void reservationBecomesItsContainersAndNobodyElses() throws Exception {
        ProcessId client = world.machine.spawn();
        Claim claim = reserve(client, new GpuRequest.Count(1));
        Lease reserved = live().getFirst();
        assertTrue(parts().oci().made(claim.key(), named("a")).isPresent());
        var made = parts().oci().made(claim.key(), named("a")).orElseThrow();
        assertEquals(TestingLeases.ALICE, made.owner());
        assertEquals(new GpuRequest.Count(1), made.request());
        Lease lease =
                take(
                        reserved(
                                TestingParts.creation(
                                        named("a"),
                                        "train",
                                        Optional.of("cuda"),
                                        world.machine.spawn(),
                                        made.owner(),
                                        made.request()),
                                claim));
        assertEquals(claim.gpus().stream().map(ClaimedGpu::uuid).toList(), uuids(lease));
        assertEquals(List.of(lease.id()), live().stream().map(Lease::id).toList());
        assertEquals("alice's container train", LeaseText.holder(lease));
        // One lease, from the reservation on: nobody reads of two holders.
        assertEquals(reserved.id(), lease.id());
        assertEquals(reserved.since(), lease.since());
        world.machine.end(client);
        ProcessId init = begin(lease);
        assertEquals(Optional.empty(), parts().oci().made(claim.key(), named("b")));
        world.machine.end(init);
        pass(GRACE);
        assertEquals(List.of(), live());
        assertTrue(parts().oci().made(claim.key(), named("a")).isPresent());
        assertEquals(
                Optional.empty(),
                parts().oci().made(new ClaimKey(claim.id(), "0".repeat(32)), named("a")));
        // Nothing of the reservation is left to be added up as one that came to nothing.
        world.machine.pass(Duration.ofHours(2));
        assertEquals(0, parts().registry().history().fold(Duration.ofHours(1), 10));
        ProcessId second = begin(query("a", 1));
        assertEquals(Optional.empty(), parts().oci().made(claim.key(), named("b")));
        parts().registry().history().deleteUntil(parts().registry().now(), 10);
        assertTrue(parts().oci().made(claim.key(), named("a")).isPresent());
        world.machine.end(second);
        pass(GRACE);
        assertTrue(parts().oci().isAnothers(claim.key(), named("b")));
        parts().reconciler().destroyed("a");
        var again = parts().oci().made(claim.key(), named("b")).orElseThrow();
        assertEquals(TestingLeases.ALICE, again.owner());
    }

    /** Another user's container has no part in the reservation's time. */
    @Test
    void reservationOfAnotherUserEndsWhenItsContainerStarts() throws Exception {
        Claim claim = reserve(world.machine.spawn(), new GpuRequest.Count(1));
        Lease reserved = live().getFirst();
        Lease lease =
                take(
                        reserved(
                                creation("a", new GpuRequest.Count(1), world.machine.spawn()),
                                claim));
        assertNotEquals(reserved.id(), lease.id());
        assertEquals(List.of(lease.id()), live().stream().map(Lease::id).toList());
        assertEquals(Owner.UNKNOWN, lease.claim().owner());
    }

    /** A request that the container's start reads otherwise is a lease of its own. */
    @Test
    void reservationOfMoreGpusThanItsContainerRequestsEnds() throws Exception {
        Claim claim = reserve(world.machine.spawn(), new GpuRequest.Count(2));
        Lease reserved = live().getFirst();
        Lease lease =
                take(
                        reserved(
                                TestingParts.creation(
                                        named("a"),
                                        "train",
                                        Optional.of("cuda"),
                                        world.machine.spawn(),
                                        TestingLeases.ALICE,
                                        new GpuRequest.Count(1)),
                                claim));
        assertNotEquals(reserved.id(), lease.id());
        assertEquals(1, uuids(lease).size());
        assertEquals(List.of(lease.id()), live().stream().map(Lease::id).toList());
    }

    /** The container knows its GPUs, and would use them beside another. */
    @Test
    void leaseOfOneThatIsBeingCreatedIsNotReleased() throws Exception {
        Lease lease = query("a", 1);
        String claim = lease.claim().id();
        var error =
                assertThrows(
                        RefusedException.class,
                        () -> parts().leases().releases().unused(claim, "alice"));
        assertTrue(
                error.getMessage().contains("container name-a is being created"),
                error::getMessage);
        assertTrue(parts().leases().releases().byForce(claim, "root").runs().isPresent());
        Claim reserved = reserve(world.machine.spawn(), new GpuRequest.Count(1));
        parts().leases().releases().unused(reserved.id(), "alice");
        assertEquals(List.of(), live());
    }

    /** The next daemon sees that its directory is mounted. */
    @Test
    void claimReleasedByForceIsForgottenThoughItsContainerRuns() throws Exception {
        Lease lease = query("a", 1);
        ProcessId init = begin(lease);
        parts().leases().releases().byForce(lease.claim().id(), "root");
        world.daemon.kill();
        world.daemon.start();
        assertEquals(List.of(), live());
        assertEquals(List.of(), parts().registry().claims().all());
        world.machine.end(init);
        parts().keeper().sweep();
        parts().ociKeeper().tidy();
        assertTrue(Files.notExists(parts().oci().directory(lease.claim())));
    }

    @Test
    void registryThatIsLostKnowsItAgainByItsMount() throws Exception {
        Lease lease = query("a", 2);
        ProcessId init = begin(lease);
        world.daemon.kill();
        world.disk.loseRegistry(false);
        world.daemon.start();
        Lease again = live().getFirst();
        assertEquals(uuids(lease), uuids(again));
        assertEquals(lease.claim().id(), again.claim().id());
        assertEquals(lease.claim().container(), again.claim().container());
        assertEquals(GpuStatus.State.HELD, parts().leases().holders().state(again));
        world.machine.end(init);
        live();
        pass(GRACE);
        assertEquals(List.of(), live());
    }

    /** This also works before the daemon has seen its first process. */
    @Test
    void lostRegistryRestoresALeaseThatHasJustBegun() throws Exception {
        Lease lease = query("a", 2);
        spawn(lease);
        world.machine.end(lease.holder().process());
        world.daemon.kill();
        world.disk.loseRegistry(false);
        world.daemon.start();
        assertEquals(
                List.of(lease.claim().id()), live().stream().map(it -> it.claim().id()).toList());
    }

    /** The container mounts the directory of its claim after the next daemon has started. */
    @Test
    void startingDaemonKeepsTheDirectoryOfAContainerBeingCreated() throws Exception {
        Lease lease = query("a", 1);
        world.daemon.kill();
        world.daemon.start();
        assertTrue(Files.exists(parts().oci().directory(lease.claim())));
        begin(lease);
        assertEquals(1, live().size());
    }

    /**
     * The registry is lost while a container is being created, and the container mounts the
     * directory of its claim while the next daemon starts.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
    void mountWhileTheDaemonStartsIsNotMissed(int moment) throws Exception {
        Lease lease = query("a", 1);
        world.daemon.kill();
        world.disk.loseRegistry(false);
        List<ProcessId> mounting = new ArrayList<>();
        Path directory = new ClaimFiles(state).directory(lease.claim().id());
        world.course.during(
                moment,
                _ -> {
                    if (Files.exists(directory)) {
                        mounting.add(spawn(lease));
                    }
                    return true;
                });
        world.daemon.start();
        assertEquals(
                mounting.stream().map(_ -> lease.claim().id()).toList(),
                live().stream().map(it -> it.claim().id()).toList());
    }

    @Test
    void endThatNoDaemonSawIsSeenAtItsStart() throws Exception {
        Lease lease = query("a", 1);
        ProcessId init = begin(lease);
        world.daemon.kill();
        world.machine.end(init);
        world.daemon.start();
        assertEquals(1, parts().registry().live().size(), "its engine may be about to start it");
        pass(GRACE);
        assertEquals(List.of(), parts().registry().live());
    }

    /** Podman has not deleted it yet, and is slow. */
    @Test
    void containerThatIsMonitoredMayComeBack() throws Exception {
        Lease before = query("a", 1);
        String container = before.claim().container().orElseThrow().id();
        world.machine.monitored.add(container);
        world.machine.end(begin(before));
        pass(GRACE);
        pass(GRACE.multipliedBy(40));
        assertEquals(1, live().size());
        Lease again = query("a", 1);
        assertEquals(uuids(before), uuids(again));
        world.machine.end(begin(again));
        pass(GRACE);
        assertEquals(1, live().size());
        pass(Duration.ofMinutes(1));
        assertEquals(List.of(), live());
    }

    /** Its engine's command may restart others after that. */
    @Test
    void commandThatHasDeletedItIsWaitedForAMinute() throws Exception {
        world.machine.end(begin(query("a", 1)));
        parts().keeper().deleted(live(), Optional.of(world.machine.spawn()));
        pass(Duration.ofSeconds(59));
        assertEquals(1, live().size());
        pass(Duration.ofSeconds(2));
        pass(GRACE);
        assertEquals(List.of(), live());
    }

    /** However long the real runtime takes for that, within a minute. */
    @Test
    void containerThatIsBeingDeletedMayComeBack() throws Exception {
        Lease before = query("a", 1);
        world.machine.end(begin(before));
        ProcessId deletion = world.machine.spawn();
        parts().keeper().deleted(live(), Optional.of(deletion));
        for (int i = 0; i < 40; i++) {
            pass(GRACE);
        }
        assertEquals(1, live().size());
        world.machine.end(deletion);
        Lease again = query("a", 1);
        assertEquals(uuids(before), uuids(again));
        world.machine.end(begin(again));
        pass(GRACE);
        assertEquals(List.of(), live());
    }

    /** Its engine sets up a network between a deletion and the next creation. */
    @Test
    void engineIsGivenTheTimeThatItHasTakenBefore() throws Exception {
        Duration needed = GRACE.multipliedBy(3);
        Lease first = query("a", 1);
        world.machine.end(begin(first));
        pass(GRACE);
        assertEquals(List.of(), live());
        world.machine.pass(needed.minus(GRACE));
        Lease second = query("a", 1);
        parts().keeper().created(second);
        world.machine.end(begin(second));
        pass(GRACE);
        pass(GRACE);
        pass(GRACE);
        assertEquals(List.of(second.id()), live().stream().map(Lease::id).toList());
        pass(needed);
        pass(needed);
        assertEquals(List.of(), live());
    }

    @Test
    void directoryOfAnEndedClaimGoes() throws Exception {
        Lease lease = query("a", 1);
        Path directory = parts().oci().directory(lease.claim());
        assertTrue(Files.exists(directory.resolve("lease.json")));
        parts().ociKeeper().remember(lease);
        world.machine.end(lease.holder().process());
        assertTrue(parts().ociKeeper().check(lease, Optional.empty()));
        parts().ociKeeper().tidy();
        assertTrue(Files.notExists(directory));
    }
}
