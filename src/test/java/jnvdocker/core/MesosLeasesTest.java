package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.grant.Waiting;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.mesos.launch.MesosKind;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.AllowedDevices;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** The leases of Mesos containers, whose agent never reports an end. */
@Attack(
        by = "a broken host",
        what = "access to a device cannot be revoked",
        result = "STUCK until it can")
@Attack(
        by = "a fault",
        what =
                "a Mesos task's lease in a registry of an earlier time gives way to a container"
                        + " that runs",
        result = "what is left of the task may no longer open the GPU")
class MesosLeasesTest extends SimulatedWorldTest {
    private static final String FREEZER = "/sys/fs/cgroup/freezer/mesos/a";

    @TempDir Path devices;
    private ProcessId helper;

    @Override
    SimulatedFeature feature(SimulatedWorld its) {
        return () -> List.of(new MesosKind(its.machine));
    }

    @BeforeEach
    void open() throws IOException {
        helper = world.machine.spawn();
        Files.createFile(devices.resolve("devices.deny"));
    }

    private Leases leases() {
        return world.daemon.parts().leases();
    }

    private Claim reserve() throws Exception {
        return leases().runs()
                .take(
                        new Request(
                                new GpuRequest.Count(1),
                                Set.of(),
                                TestingLeases.ALICE,
                                helper,
                                new Origin.MesosTask("train"),
                                Optional.empty()),
                        Optional.of(new Waiting(Optional.of(Duration.ZERO), _ -> {})))
                .keep()
                .orElseThrow();
    }

    private Claim launch() throws Exception {
        Claim claim = reserve();
        leases().reservations()
                .becomes(claim, helper, new Claim.ContainerRef("a", "train"), holder());
        return MesosKind.claimOf("a", leases().live()).orElseThrow();
    }

    private Holder holder() {
        return MesosKind.holder(helper, "/var/run/mesos/containers/a", FREEZER, devices.toString());
    }

    private void restart() throws IOException {
        world.daemon.kill();
        world.daemon.start();
    }

    private void lose() throws IOException {
        world.daemon.kill();
        world.disk.loseRegistry(false);
        world.daemon.start();
    }

    @Test
    void containerHasTheGpusThatItsHelperReserved() throws Exception {
        Claim claim = launch();
        Lease lease = leases().live().getFirst();
        assertEquals(holder(), lease.holder());
        assertEquals(claim, lease.claim());
        assertEquals(GpuStatus.State.HELD, leases().holders().state(lease));
        assertEquals("alice's Mesos task train", LeaseText.holder(lease));
        assertEquals(Optional.empty(), MesosKind.claimOf("b", leases().live()));
    }

    @Test
    void leaseOutlivesEveryDaemonAndReconcile() throws Exception {
        Claim claim = launch();
        for (int i = 0; i < 3; i++) {
            restart();
            world.daemon.parts().reconciler().reconcile();
            world.daemon.parts().reconciler().sweep();
        }
        assertEquals(Optional.of(claim), MesosKind.claimOf("a", leases().live()));
        assertEquals(1, leases().live().size());
    }

    /** The processes that a helper has started may outlive it and its agent. */
    @Test
    void leaseLivesAsLongAsAnythingInTheCgroup() throws Exception {
        launch();
        ProcessId task = world.machine.spawn(Optional.empty(), Optional.of(FREEZER));
        world.machine.end(helper);
        assertEquals(1, leases().live().size());
        assertTrue(
                leases().holders()
                        .explain(leases().live().getFirst())
                        .contains(FREEZER + "/cgroup.procs"));
        world.machine.end(task);
        assertEquals(List.of(), leases().live());
        assertEquals(
                "its process (pid " + helper.pid() + ") is gone, and its cgroup empty",
                world.lastEvidence());
    }

    @Test
    void endThatNoDaemonSawIsSeenAtItsStart() throws Exception {
        launch();
        world.daemon.kill();
        world.machine.end(helper);
        world.daemon.start();
        assertEquals(List.of(), world.daemon.parts().registry().live());
        assertEquals(List.of(), world.daemon.parts().registry().claims().all());
    }

    @Test
    void restartOfTheHostIsTheEnd() throws Exception {
        launch();
        world.daemon.kill();
        world.machine.boot();
        world.daemon.start();
        assertEquals(List.of(), leases().live());
        assertEquals("the host was restarted", world.lastEvidence());
    }

    @Test
    void sharedCgroupLosesTheRuleBeforeOthersGetTheGpu() throws Exception {
        Claim claim = launch();
        world.machine.end(helper);
        assertEquals(List.of(), leases().live());
        assertEquals(
                "c 195:" + claim.gpus().getFirst().minor() + " rw",
                Files.readString(devices.resolve("devices.deny")));
    }

    /** Other processes in the cgroup could open the GPU after its next grant. */
    @Test
    void gpuThatCantBeTakenAwayStaysStuck() throws Exception {
        launch();
        Path deny = devices.resolve("devices.deny");
        Files.delete(deny);
        Files.createDirectory(deny);
        world.machine.end(helper);
        Lease lease = leases().live().getFirst();
        GpuStatus gpu = leases().status(world.gpus()).getFirst();
        assertEquals(GpuStatus.State.STUCK, gpu.state());
        assertEquals(
                "ended, but its devices cgroup cannot be refused access to "
                        + lease.claim().gpus().getFirst().node()
                        + ": "
                        + deny
                        + ": Is a directory",
                gpu.note());
        assertTrue(leases().holders().explain(lease).endsWith("Is a directory"));
        restart();
        assertEquals(1, leases().live().size());

        Files.delete(deny);
        Files.createFile(deny);
        assertEquals(List.of(), leases().live());
        assertTrue(Files.readString(deny).startsWith("c 195:"));
    }

    @Test
    void ruleIsTheNextHoldersOnceTheLeaseHasEnded() throws Exception {
        launch();
        Lease lease = leases().live().getFirst();
        world.machine.end(helper);
        assertEquals(List.of(), leases().live());
        Files.writeString(devices.resolve("devices.deny"), "");
        assertThrows(
                RefusedException.class,
                () -> leases().releases().byForce(lease.claim().id(), "root"));
        world.daemon.parts().reconciler().sweep();
        assertEquals("", Files.readString(devices.resolve("devices.deny")));
    }

    @Test
    void forceTakesTheDeviceAway() throws Exception {
        Claim claim = launch();
        leases().releases().byForce(claim.id(), "root");
        assertEquals(List.of(), leases().live());
        assertTrue(Files.readString(devices.resolve("devices.deny")).startsWith("c 195:"));
    }

    /** A registry of an earlier time has a lease that is long over. */
    @Test
    void leaseThatGivesWayToARunningContainerTakesTheDeviceAway() throws Exception {
        Claim claim = launch();
        world.disk.backUp();
        world.machine.end(helper);
        assertEquals(List.of(), leases().live());
        Files.writeString(devices.resolve("devices.deny"), "");
        world.clients.run(
                new SimulatedClients.RunOptions(
                        new GpuRequest.Devices(List.of(claim.gpus().getFirst().uuid())),
                        false,
                        true,
                        false,
                        false));
        world.daemon.kill();
        world.disk.restoreBackup();
        world.forgetLeases();
        world.daemon.start();
        Lease lease = world.daemon.parts().registry().live().getFirst();
        assertEquals(claim.gpus(), lease.claim().gpus());
        assertTrue(lease.claim().origin() instanceof Origin.EngineContainer);
        assertTrue(Files.readString(devices.resolve("devices.deny")).startsWith("c 195:"));
    }

    /** The same, for a container that is started again when a task runs. */
    @Test
    void leaseThatHasEndedGivesWayToATask() throws IOException {
        assertTrue(
                world.clients.run(
                        new SimulatedClients.RunOptions(
                                new GpuRequest.Devices(List.of("1")), false, true, false, false)));
        SimulatedContainer older = world.engine().containers.getLast();
        int minor = older.settings.minors().getFirst();
        world.disk.backUp();
        world.engine().stop(older, false, false);
        world.machine.pass(Duration.ofSeconds(11));
        world.daemonSteps.sweep();
        assertEquals(List.of(), leases().live());
        ProcessId task = world.machine.spawn();
        world.machine.allowed.add(
                new AllowedDevices(
                        "/sys/fs/cgroup/devices/mesos/0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a",
                        new TreeSet<>(List.of(minor)),
                        task));
        world.daemonSteps.kill();
        world.disk.restoreBackup();
        world.forgetLeases();
        world.daemonSteps.start();
        assertEquals(
                List.of(task),
                world.daemon.parts().registry().live().stream()
                        .map(lease -> lease.holder().process())
                        .toList());
        Optional<String> error = world.engine().start(older, false);
        assertTrue(error.orElse("granted").startsWith("GPU 1 ("), error::toString);
    }

    @Test
    void reservationThatWasReleasedBecomesNobodys() throws Exception {
        Claim claim = reserve();
        leases().releases().byForce(claim.id(), "root");
        var error =
                assertThrows(
                        RefusedException.class,
                        () ->
                                leases().reservations()
                                        .becomes(
                                                claim,
                                                helper,
                                                new Claim.ContainerRef("a", "train"),
                                                holder()));
        assertTrue(
                error.getMessage().startsWith("the reservation of Mesos task train was ended"),
                error::getMessage);
        assertEquals(Optional.empty(), MesosKind.claimOf("a", leases().live()));
    }

    @Test
    void helperThatEndsInBetweenReservesNothing() throws Exception {
        reserve();
        world.machine.end(helper);
        assertEquals(List.of(), leases().live());
        assertEquals("Mesos task train has ended", world.lastEvidence());
    }

    @Test
    void lostRegistryIsRestoredFromTheDevicesThatAnAgentAllows() throws Exception {
        String id = "c53828fb-f7df-4917-9988-78858f6c5e10";
        List<Integer> minors = world.gpus().stream().map(Gpu::minor).limit(2).toList();
        for (String name : List.of(id, "a".repeat(64), "user.slice")) {
            world.machine.allowed.add(
                    new AllowedDevices(
                            "/sys/fs/cgroup/devices/mesos/" + name,
                            new TreeSet<>(name.equals(id) ? minors : List.of(9, 255)),
                            helper));
        }
        lose();
        Lease lease = leases().live().getFirst();
        assertEquals(1, leases().live().size());
        assertEquals(id, lease.claim().container().orElseThrow().id());
        assertEquals(minors, lease.claim().gpus().stream().map(ClaimedGpu::minor).toList());
        restart();
        assertEquals(List.of(lease), leases().live());
        world.machine.end(helper);
        assertEquals(List.of(), leases().live());
    }

    @Test
    void refusalSaysWhatAFrameworksUserCanDo() throws Exception {
        for (int i = 0; i < world.gpus().size(); i++) {
            helper = world.machine.spawn();
            reserve();
        }
        helper = world.machine.spawn();
        var error = assertThrows(RefusedException.class, this::reserve);
        assertTrue(
                error.getMessage()
                        .endsWith(
                                "; start the task again later ('jnvdocker gpu ls' shows who holds"
                                        + " the GPUs)"),
                error::getMessage);
    }
}
