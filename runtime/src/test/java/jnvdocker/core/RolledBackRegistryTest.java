package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.core.SimulatedClients.RunOptions;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.Unleased;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;
import jnvdocker.use.MemoryUsers;
import jnvdocker.use.RunningContainer;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A registry that is older than the running containers, in the boot that they were started in. */
class RolledBackRegistryTest extends SimulatedWorldTest {
    private static final RunOptions ON_GPU_1 =
            new RunOptions(new GpuRequest.Devices(List.of("1")), false, true, false, false);

    @Test
    void containerThatRunsKeepsItsGpuAndAnOlderClaimIsRefused() throws IOException {
        SimulatedContainer older = run();
        stop(older);
        world.disk.backUp();
        SimulatedContainer train = run();
        Owner owner = owner(train);
        putBack();
        assertTrue(directoryOf(train));
        assertEquals(Optional.of(owner), lease(train).map(lease -> lease.claim().owner()));
        assertRefused(older);
        world.check();
    }

    /** The claim is known, but its lease is not. */
    @Test
    void containerWhoseLeaseIsLostHasItAgain() throws IOException {
        SimulatedContainer train = run();
        stop(train);
        SimulatedContainer other = created();
        world.disk.backUp();
        start(train);
        putBack();
        assertTrue(lease(train).isPresent());
        assertRefused(other);
    }

    /** The container of that time no longer runs, and its GPU is another's. */
    @Test
    void leaseThatHasEndedGivesWayToARunningContainer() throws IOException {
        SimulatedContainer older = run();
        world.disk.backUp();
        stop(older);
        SimulatedContainer train = run();
        putBack();
        assertTrue(lease(train).isPresent());
        assertEquals(Optional.empty(), lease(older));
        assertRefused(older);
        world.check();
    }

    @Test
    void reservationGivesWayToARunningContainer() throws Exception {
        assertTrue(world.clients.claim(ON_GPU_1));
        world.disk.backUp();
        Lease reservation = world.daemon.parts().registry().live().getFirst();
        world.daemon.parts().leases().releases().unused(reservation.claim().id(), "its user");
        SimulatedContainer train = run();
        assertTrue(world.machine.lives(reservation.holder().process()));
        putBack();
        assertTrue(lease(train).isPresent());
    }

    @Test
    void leaseThatHasEndedEndsOnEvidence() throws IOException {
        SimulatedContainer older = run();
        world.disk.backUp();
        stop(older);
        putBack();
        world.machine.pass(Duration.ofSeconds(11));
        world.daemonSteps.sweep();
        assertEquals(Optional.empty(), lease(older));
        run();
    }

    /** Until the engine answers, nothing shows which GPUs the claim has. */
    @Test
    void claimWithoutAFileKeepsEveryGpuUntilTheEngineReports() throws IOException {
        SimulatedContainer older = run();
        stop(older);
        world.disk.backUp();
        SimulatedContainer train = run();
        world.engine().mood = SimulatedEngine.Mood.FAILING;
        world.daemonSteps.kill();
        new ClaimFiles(world.state).delete(train.claim().orElseThrow());
        putBack();
        assertTrue(world.engine().start(older, false).orElse("granted").contains("no lease on it"));
        List<GpuStatus> status = world.daemon.parts().leases().status(world.gpus());
        assertEquals(
                List.of(GpuStatus.State.UNMANAGED),
                status.stream().map(GpuStatus::state).distinct().toList());
        assertEquals(List.of(train.claim().orElseThrow()), unleased());
        world.engine().mood = SimulatedEngine.Mood.WELL;
        world.daemonSteps.watch();
        assertEquals(List.of("1"), unmanaged());
        assertTrue(world.engine().start(older, false).orElse("granted").contains("no lease on it"));
        stop(train);
        assertEquals(List.of(), unmanaged());
        assertEquals(List.of(), unleased());
        world.check();
    }

    /** Whether its file is there or not. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void lostClaimKeepsItsGpuWhereMountsCouldNotBeReadAtTheStart(boolean written)
            throws IOException {
        stop(run());
        world.disk.backUp();
        SimulatedContainer train = run();
        world.engine().mood = SimulatedEngine.Mood.FAILING;
        world.daemonSteps.kill();
        if (!written) {
            new ClaimFiles(world.state).delete(train.claim().orElseThrow());
            Files.createDirectories(
                    new ClaimFiles(world.state).directory(train.claim().orElseThrow()));
        }
        world.machine.mountsFail = true;
        putBack();
        world.machine.mountsFail = false;
        assertTrue(unmanaged().contains("1"), unmanaged()::toString);
        world.engine().mood = SimulatedEngine.Mood.WELL;
        world.daemonSteps.watch();
        reconcile();
        assertEquals(written, lease(train).isPresent());
        assertEquals(written ? List.of() : List.of("1"), unmanaged());
        stop(train);
        world.check();
    }

    /** Any user of an engine can give a container the label and the volume of another's claim. */
    @Test
    void claimsLabelOnAnotherContainerSaysNothingOfItsGpus() throws IOException {
        SimulatedContainer train = run();
        stop(train);
        world.disk.backUp();
        train = run();
        ClaimKey key = lease(train).orElseThrow().claim().key();
        world.engine().mood = SimulatedEngine.Mood.FAILING;
        world.daemonSteps.kill();
        new ClaimFiles(world.state).delete(key.id());
        putBack();
        RunningContainer forged =
                TestingLeases.running(
                        "forged",
                        Map.of(ClaimNames.CLAIM_LABEL, key.text()),
                        List.of(ClaimNames.volume(key)));
        Gpu given = world.gpus().getLast();
        GpuUses uses =
                new GpuUses() {
                    @Override
                    public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
                        return scanWithoutEngine(gpus);
                    }

                    @Override
                    public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
                        return List.of(
                                new GpuUse(
                                        given,
                                        GpuUse.Kind.NODE,
                                        Optional.of(forged),
                                        Optional.empty()));
                    }
                };
        Evidence evidence =
                new Evidence(
                        world.machine, world.machine.bootId(), world.machine.state(), List.of());
        UnmanagedScan scan =
                new UnmanagedScan(
                        uses,
                        world.daemon.parts().registry(),
                        evidence,
                        world.daemon.parts().unleased(),
                        new Leftovers(evidence, MemoryUsers.UNKNOWN));
        assertEquals(
                world.gpus(),
                scan.scanWithoutEngine(world.gpus()).stream()
                        .filter(use -> use.kind() == GpuUse.Kind.CLAIM)
                        .map(GpuUse::gpu)
                        .toList());
    }

    private List<String> unleased() throws IOException {
        return world.daemon.parts().unleased().running().stream()
                .map(Unleased.Running::id)
                .toList();
    }

    private List<String> unmanaged() throws IOException {
        return world.daemon.parts().leases().status(world.gpus()).stream()
                .filter(gpu -> gpu.state() == GpuStatus.State.UNMANAGED)
                .map(gpu -> "" + gpu.gpu().index())
                .toList();
    }

    /** In the registry that is put back, the running container has a lease that is long over. */
    @Test
    void runningContainerHasALeaseOfThisBootThoughAnEarlierIsLeft() throws IOException {
        SimulatedContainer train = run();
        world.disk.backUp();
        assertTrue(world.host.reboot(false, false, true));
        start(train);
        putBack();
        assertEquals(
                Optional.of(world.daemon.parts().registry().boot()), lease(train).map(Lease::boot));
        world.check();
    }

    /** It was released by force, then started again: the registry only knows of the release. */
    @Test
    void containerThatIsStartedAfterAReleaseByForceCountsAgain() throws IOException {
        SimulatedContainer train = run();
        reconcile();
        world.daemonSteps.release(0, true);
        world.disk.backUp();
        stop(train);
        start(train);
        assertTrue(lease(train).isPresent());
        putBack();
        assertTrue(lease(train).isPresent());
    }

    /** A member of docker's group has the claim's directory mounted in a container of theirs. */
    @Test
    void mountInAnotherContainerIsNoEvidence() throws IOException {
        SimulatedContainer train = run();
        reconcile();
        world.disk.backUp();
        world.machine.spawn(train.claim(), Optional.of("/sys/fs/cgroup/docker/other"));
        stop(train);
        start(train);
        putBack();
        assertEquals(train.init, lease(train).map(lease -> lease.holder().init().orElseThrow()));
        stop(train);
        world.check();
    }

    @Test
    void claimThatIsMountedIsNeverRemoved() throws IOException {
        SimulatedContainer train = run();
        world.daemonSteps.release(0, true);
        assertEquals(Optional.empty(), lease(train));
        world.engine().containers.remove(train);
        reconcile();
        assertTrue(directoryOf(train));
        assertThrows(
                RefusedException.class,
                () -> world.daemon.parts().volumes().remove(train.settings.volume().orElseThrow()));
        assertTrue(directoryOf(train));
        world.daemonSteps.kill();
        world.daemonSteps.start();
        assertTrue(directoryOf(train));
        world.machine.end(train.init.orElseThrow());
        reconcile();
        assertFalse(directoryOf(train));
    }

    /** The registry is of the moment at which its client had not yet become the program. */
    @Test
    void programThatIsKnownAsAClientHasItsGpuAsLongAsAnythingOfItRuns() throws Exception {
        ProcessId client = world.machine.spawn();
        Claim claim =
                world.daemon
                        .parts()
                        .leases()
                        .runs()
                        .take(
                                new Request(
                                        new GpuRequest.Count(1),
                                        Set.of(),
                                        Owner.UNKNOWN,
                                        client,
                                        new Origin.HostProcess("train"),
                                        Optional.empty()),
                                Optional.empty())
                        .keep()
                        .orElseThrow();
        ProcessId child =
                world.machine.spawn(
                        Optional.empty(), Optional.of("/sys/fs/cgroup/jnvdocker-" + claim.id()));
        world.daemonSteps.kill();
        world.machine.end(client);
        world.daemonSteps.start();
        world.daemonSteps.sweep();
        assertTrue(world.liveLease(claim.id()).isPresent());
        world.machine.end(child);
        world.daemonSteps.sweep();
        assertEquals(Optional.empty(), world.liveLease(claim.id()));
    }

    private void reconcile() throws IOException {
        assertTrue(
                world.daemon.perform(
                        "reconcile", () -> world.daemon.parts().reconciler().reconcile()));
    }

    private SimulatedContainer run() throws IOException {
        assertTrue(world.clients.run(ON_GPU_1));
        SimulatedContainer container = world.engine().containers.getLast();
        assertTrue(container.isRunning());
        return container;
    }

    private SimulatedContainer created() throws IOException {
        SimulatedContainer container = run();
        stop(container);
        return container;
    }

    private void stop(SimulatedContainer container) throws IOException {
        world.engine().stop(container, false, false);
        world.machine.pass(Duration.ofSeconds(11));
        world.daemonSteps.sweep();
        assertEquals(Optional.empty(), lease(container));
    }

    private void start(SimulatedContainer container) {
        assertEquals(Optional.empty(), world.engine().start(container, false));
    }

    private void putBack() throws IOException {
        world.daemonSteps.kill();
        world.disk.restoreBackup();
        world.forgetLeases();
        world.daemonSteps.start();
    }

    private boolean directoryOf(SimulatedContainer container) {
        return Files.exists(new ClaimFiles(world.state).directory(container.claim().orElseThrow()));
    }

    private Optional<Lease> lease(SimulatedContainer container) {
        return world.liveLease(container.claim().orElseThrow());
    }

    private Owner owner(SimulatedContainer container) {
        return lease(container).orElseThrow().claim().owner();
    }

    private void assertRefused(SimulatedContainer container) {
        Optional<String> error = world.engine().start(container, false);
        assertTrue(error.orElse("granted").startsWith("GPU 1 ("), error::toString);
    }
}
