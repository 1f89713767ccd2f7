package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.core.SimulatedClients.RunOptions;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.Ground;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/** Which containers are started again after they were refused when their engine was started. */
@Attack(
        by = "an engine that starts",
        what = "finds no daemon, for containers with a restart policy",
        result =
                "the daemon starts them when it is there, or when they can have their GPUs; `gpu"
                        + " doctor` names those that are down")
class RefusedStartTest {
    private static final String HELD = "GPU 0 (GPU-5c1a1003) is held by bob's container \"x\"";
    private static final Refusal REFUSAL = new Refusal(HELD, "start it again");
    private static final String ERROR = "error while mounting volume '': " + HELD;
    private static final String ENDED = "2024-01-02T09:12:00.123456789Z";
    private static final String ID = "c".repeat(64);

    /** As docker 20.10 and 28.5 keep it. */
    private static final String NO_PLUGIN =
            "get nvidia_driver_535.261.03: error while checking if volume"
                    + " \"nvidia_driver_535.261.03\" exists in driver \"nvidia-docker\": error"
                    + " looking up volume plugin nvidia-docker: plugin \"nvidia-docker\" not found";

    private static final String NO_DAEMON =
            "failed to create shim task: OCI runtime create failed: jnvdocker: no jnvdockerd"
                    + " answers at /run/jnvdocker/jnvdocker.sock (No such file or directory); start"
                    + " it: unknown";

    private static final String NO_VOLUME =
            "error while mounting volume '/var/lib/jnvdocker/volumes/535.261.03':"
                + " VolumeDriver.Mount: no NVIDIA driver is loaded: neither"
                + " /proc/driver/nvidia/version nor /sys/module/nvidia/version is there; install"
                + " the driver";

    private static final String NO_GPUS =
            "failed to create shim task: OCI runtime create failed: jnvdocker: no NVIDIA driver is"
                + " loaded: neither /proc/driver/nvidia/version nor the other is there: unknown";
    private static final String PLUGIN = "nvidia-docker";
    private static final Claim CLAIM =
            TestingLeases.claim("111111111111", TestingLeases.ALICE, TestingLeases.A);
    private static final ProcessId ENGINE = new ProcessId(800, 20);

    @TempDir private Path directory;
    private LeaseRegistry registry;

    @BeforeEach
    void open() throws IOException {
        registry =
                LeaseRegistry.open(
                        directory,
                        "boot",
                        TestingLeases.steady(() -> TestingLeases.THEN),
                        TestingLeases.RANDOM);
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    private static ContainerEngine.Down down(String policy, String error, String label) {
        return new ContainerEngine.Down(ID, "train", policy, error, ENDED, Map.of(label, ""));
    }

    private static RefusedStart refused(RefusedStart.Seen seen) {
        return new RefusedStart(
                CLAIM, List.of(HELD, "later"), "later", TestingLeases.THEN, Optional.of(seen));
    }

    @ParameterizedTest
    @ValueSource(strings = {"always", "unless-stopped", "on-failure"})
    void containerThatIsAsItWasIsTheOne(String policy) {
        RefusedStart refused = refused(new RefusedStart.Seen(ID, ENDED));
        assertTrue(down(policy, ERROR, "a").isOf(refused));
        assertTrue(down(policy, "error while mounting volume '': later", "a").isOf(refused));
        RefusedStart unseen =
                new RefusedStart(CLAIM, List.of(HELD), HELD, TestingLeases.THEN, Optional.empty());
        assertTrue(down(policy, ERROR, "a").isOf(unseen));
    }

    @Test
    void containerThatWasChangedIsNot() {
        RefusedStart refused = refused(new RefusedStart.Seen(ID, ENDED));
        assertFalse(down("no", ERROR, "a").isOf(refused), "docker update --restart=no");
        assertFalse(down("", ERROR, "a").isOf(refused), "no policy");
        assertFalse(down("always", "", "a").isOf(refused), "was started");
        assertFalse(down("always", "network not found", "a").isOf(refused), "fails otherwise");
        assertFalse(
                down("always", ERROR, "com.docker.swarm.task.id").isOf(refused), "Swarm's task");
        assertFalse(
                down("always", ERROR, "a")
                        .isOf(refused(new RefusedStart.Seen(ID, "2024-01-02T10:00:00Z"))),
                "has run since");
        assertFalse(
                down("always", ERROR, "a")
                        .isOf(refused(new RefusedStart.Seen("d".repeat(64), ENDED))),
                "another container");
    }

    @ParameterizedTest
    @ValueSource(strings = {NO_PLUGIN, NO_DAEMON, NO_VOLUME, NO_GPUS})
    void containerThatDockerCouldNotStartWithoutDaemonOrDriverIsKnown(String error) {
        String lack =
                error.contains("no NVIDIA driver")
                        ? "no NVIDIA driver was loaded"
                        : "jnvdockerd did not run";
        Optional<String> none = Optional.empty();
        assertEquals(Optional.of(lack), down("unless-stopped", error, "a").lacked(PLUGIN));
        assertEquals(none, down("no", error, "a").lacked(PLUGIN), "docker update --restart=no");
        assertEquals(
                none,
                down("always", error, "com.docker.swarm.task.id").lacked(PLUGIN),
                "Swarm's task");
        assertEquals(
                none,
                new ContainerEngine.Down(
                                ID, "train", "always", error, "0001-01-01T00:00:00Z", Map.of())
                        .lacked(PLUGIN),
                "its user's first start has failed");
    }

    /** As docker 20.10 and 28.5 keep it, for a node and for the volume of the claim. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "error gathering device information while adding custom device \"/dev/nvidia0\": no"
                        + " such file or directory",
                "failed to create task for container: error gathering device information while"
                        + " adding custom device \"/dev/nvidia-caps/nvidia-cap12\": no such file",
                "error while mounting volume '/var/lib/jnvdocker/claims/1': VolumeDriver.Mount: GPU"
                        + " 0 (GPU-5c1a1003) is no longer on this host, or the driver does not show"
                        + " it; run"
            })
    void containerWhoseGpuWasAwayIsNamedAndTriedAgain(String error) {
        String label = ClaimNames.CLAIM_LABEL;
        for (String policy : List.of("always", "unless-stopped", "on-failure")) {
            Optional<String> lack = down(policy, error, label).lackedGpu();
            assertTrue(lack.orElseThrow().matches("there was no /dev/nvidia.*|GPU 0 .* host"));
            assertEquals(lack, down(policy, error, label).obstacle(PLUGIN));
        }
        Optional<String> none = Optional.empty();
        assertEquals(none, down("always", error, "a").lackedGpu(), "no container of ours");
        assertEquals(none, down("no", error, label).lackedGpu(), "no policy");
        String other = error.replace("nvidia", "fuse").replace("no longer", "held");
        assertEquals(none, down("always", other, label).lackedGpu(), "lacks another node");
    }

    /** It is named, and started by nobody. */
    @Test
    void containerThatFailedOtherwiseIsAnother() {
        assertEquals(Optional.empty(), down("always", NO_PLUGIN, "a").lacked("other"));
        assertEquals(Optional.empty(), down("always", ERROR, "a").obstacle(PLUGIN));
        var refused = down("always", "OCI runtime create failed: jnvdocker: " + HELD, "a");
        assertEquals(Optional.empty(), refused.lacked(PLUGIN));
        assertEquals(Optional.of(HELD), refused.obstacle(PLUGIN));
    }

    /** Nobody saw how it ended: its lease may have been ended by the engine's word later. */
    @Test
    void containerThatDockerCouldNotStartWaitsForItsGpu() throws IOException {
        ran(true);
        registry.claims().missedStart(CLAIM.id(), NO_PLUGIN + "\nmore", "jnvdockerd did not run");
        RefusedStart refused = registry.claims().refusedStarts().getFirst();
        assertEquals("jnvdockerd did not run", refused.what());
        assertTrue(down("always", NO_PLUGIN, "a").isOf(refused));
        // Another user has the GPU when it is started.
        registry.claims().refusedStart(CLAIM.id(), REFUSAL, false);
        registry.claims().seen(CLAIM.id(), new RefusedStart.Seen(ID, ENDED));
        registry.claims().refusedStart(CLAIM.id(), REFUSAL, false);
        assertTrue(
                down("always", "error while mounting volume '': " + REFUSAL.message(), "a")
                        .isOf(registry.claims().refusedStarts().getFirst()));
    }

    /** The claim had a lease, which has ended. */
    private void ran(boolean said) throws IOException {
        TestingLeases.reserve(registry, CLAIM, TestingLeases.CLIENT);
        registry.claims().created(CLAIM.key());
        TestingLeases.mount(registry, CLAIM, "use", ENGINE);
        registry.unmounted(CLAIM.id(), "use");
        TestingLeases.end(
                registry,
                registry.liveOf(CLAIM.id()).orElseThrow(),
                "it is gone",
                said ? Ground.SAID_BY_ENGINE : Ground.GONE);
    }

    @Test
    void containerThatEndedWithItsEngineIsKnownUntilItIsGone() throws IOException {
        ran(false);
        registry.claims().refusedStart(CLAIM.id(), REFUSAL, true);
        // This may have been another container of the claim.
        registry.claims().refusedStart(CLAIM.id(), Refusal.of("of which"), false);
        RefusedStart first = registry.claims().refusedStarts().getFirst();
        assertEquals(List.of(HELD + "; start it again"), first.reasons());
        assertEquals(HELD, first.what());
        registry.claims().seen(CLAIM.id(), new RefusedStart.Seen(ID, ENDED));
        for (int i = 1; i <= 20; i++) {
            registry.claims().refusedStart(CLAIM.id(), new Refusal("later\n" + i, "wait"), false);
        }
        close();
        open();
        RefusedStart refused = registry.claims().refusedStarts().getFirst();
        assertEquals(
                IntStream.rangeClosed(5, 20).mapToObj(i -> "later " + i + "; wait").toList(),
                refused.reasons());
        assertEquals("later\\u{a}20", refused.what());
        assertEquals(Optional.of(new RefusedStart.Seen(ID, ENDED)), refused.seen());
        registry.claims().forget(CLAIM.id());
        assertEquals(List.of(), registry.claims().refusedStarts());
    }

    @Test
    void containerThatEndedBeforeItsEngineIsNot() throws IOException {
        ran(true);
        registry.claims().refusedStart(CLAIM.id(), REFUSAL, true);
        assertEquals(List.of(), registry.claims().refusedStarts());
    }

    @Test
    void containerThatIsRefusedAfterItsEngineStartedIsNot() throws IOException {
        ran(false);
        registry.claims().refusedStart(CLAIM.id(), REFUSAL, false);
        assertEquals(List.of(), registry.claims().refusedStarts());
    }

    @Test
    void containerThatHasNeverRunIsNot() throws IOException {
        registry.claims().restore(CLAIM, true);
        registry.claims().refusedStart(CLAIM.id(), REFUSAL, true);
        assertEquals(List.of(), registry.claims().refusedStarts());
    }

    /** It comes after all clients that wait, also after one that waits for more than it needs. */
    @Test
    void refusedContainerIsStartedAfterTheClientsThatWait(@TempDir Path state) throws IOException {
        try (SimulatedWorld world = new SimulatedWorld(state)) {
            world.clients.run(new RunOptions(new GpuRequest.Count(1), false, true, true, false));
            SimulatedContainer train = world.engine().containers.getLast();
            world.clients.run(new RunOptions(new GpuRequest.Count(1), false, true, false, false));
            world.daemon.parts().reconciler().reconcile();
            world.engine().end(train, false, false);
            world.engine().handleEnd(train);
            world.gpus.unplug(0);
            assertTrue(world.engine().startAgain(train).orElse("").contains("no longer"));
            world.gpus.plugIn();
            RunOptions all = new RunOptions(new GpuRequest.All(), false, true, false, false);
            world.waiters.enter(all, Optional.empty());
            world.daemonSteps.startRefused();
            assertFalse(train.isRunning());
            world.waiters.die(0);
            world.waiters.settle();
            world.daemonSteps.startRefused();
            assertTrue(train.isRunning());
        }
    }
}
