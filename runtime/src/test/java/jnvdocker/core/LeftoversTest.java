package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;
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
import java.util.concurrent.CopyOnWriteArraySet;

/** What a holder has left behind keeps its GPU from others until it is gone. */
class LeftoversTest {
    private static final OciContainers.Container CONTAINER =
            new OciContainers.Container("/run/runc", "c1");

    @TempDir Path state;
    private SimulatedMachine machine;
    private final Set<Integer> withMemory = new CopyOnWriteArraySet<>();
    private final List<GpuUse> opened = new ArrayList<>();
    private ProcessId init;
    private LeaseParts parts;

    @BeforeEach
    void open() throws IOException {
        machine = new SimulatedMachine(state, () -> {});
        parts =
                TestingParts.open(
                        state,
                        machine,
                        new Opened(),
                        GpuTroubles.NONE,
                        uuid -> uuid.equals(A.uuid()) ? withMemory : Set.of(),
                        A,
                        B);
    }

    @AfterEach
    void close() throws IOException {
        parts.close();
    }

    private final class Opened implements GpuUses {
        @Override
        public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
            return scanWithoutEngine(gpus);
        }

        @Override
        public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
            return List.copyOf(opened);
        }
    }

    /** A container of the OCI runtime has GPU A. */
    private Lease start(Owner owner) throws Exception {
        ProcessId runtime = machine.spawn();
        Lease lease = take(CONTAINER, runtime, owner);
        init = spawn(lease);
        machine.end(runtime);
        assertTrue(parts.ociKeeper().check(lease, Optional.empty()));
        return lease;
    }

    private Lease take(OciContainers.Container container, ProcessId runtime, Owner owner)
            throws Exception {
        return TestingParts.take(
                parts,
                TestingParts.creation(
                        container,
                        "train-7",
                        Optional.empty(),
                        runtime,
                        owner,
                        new GpuRequest.Devices(List.of("0"))),
                List.of(A, B));
    }

    private ProcessId spawn(Lease lease) {
        return machine.spawn(Optional.of(lease.claim().id()), Optional.of("/docker/c1"));
    }

    /** A quarter of a second after the end of its first process it is known not to start again. */
    private void await(GpuStatus.State state) throws Exception {
        long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (status().state() != state) {
            assertTrue(System.nanoTime() < deadline, () -> "it does not become " + state);
            sweep();
            Thread.sleep(10);
        }
    }

    private GpuStatus status() throws IOException {
        return parts.leases().status(List.of(A, B)).getFirst();
    }

    private Claim query() throws Exception {
        return parts.leases()
                .runs()
                .take(
                        new Request(
                                new GpuRequest.Devices(List.of("0")),
                                Set.of(),
                                BOB,
                                machine.spawn(),
                                TestingLeases.CUDA,
                                Optional.empty()),
                        Optional.empty())
                .keep()
                .orElseThrow();
    }

    private void sweep() {
        try {
            parts.reconciler().sweep();
        } catch (IOException e) {
            // There is no engine.
        }
    }

    private void assertLeftBehind(ProcessId process) throws Exception {
        await(GpuStatus.State.STUCK);
        GpuStatus status = status();
        String still = "(pid " + process.pid() + ") still uses GPU 0 (" + A.shortUuid() + ")";
        assertTrue(status.note().startsWith("ended, but "), status.note());
        assertTrue(status.note().endsWith(still), status.note());
        String refusal = assertThrows(RefusedException.class, this::query).getMessage();
        assertTrue(refusal.contains(", which has ended, but "), refusal);
        assertTrue(refusal.contains(still + "; wait with --gpu-wait"), refusal);
    }

    @Test
    void processThatHasLeftItsContainerKeepsTheGpuAsLongAsItHasMemory() throws Exception {
        Lease lease = start(ALICE);
        ProcessId process = spawn(lease);
        withMemory.add(process.pid());
        sweep();
        assertEquals(GpuStatus.State.HELD, status().state());
        machine.leave(process);
        machine.end(init);
        assertLeftBehind(process);
        machine.end(process);
        await(GpuStatus.State.FREE);
    }

    /** Compose starts another container of the same user in its place. */
    @Test
    void gpuThatIsStillUsedIsNotHandedOverToASuccessor() throws Exception {
        Lease lease = start(ALICE);
        ProcessId process = spawn(lease);
        withMemory.add(process.pid());
        sweep();
        machine.leave(process);
        machine.end(init);
        var successor = new OciContainers.Container(CONTAINER.root(), "c2");
        assertThrows(RefusedException.class, () -> take(successor, machine.spawn(), ALICE));
        machine.end(process);
        assertNotEquals(lease.id(), take(successor, machine.spawn(), ALICE).id());
    }

    @Test
    void processThatHasTheNodeOpenDoesAndNoLonger() throws Exception {
        Lease lease = start(ALICE);
        ProcessId process = spawn(lease);
        GpuUse.User user = new GpuUse.User(process, "python3", 1001, Optional.empty());
        opened.add(new GpuUse(A, GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user)));
        assertEquals(GpuStatus.State.HELD, status().state());
        machine.leave(process);
        machine.end(init);
        assertLeftBehind(process);
        opened.clear();
        await(GpuStatus.State.FREE);
    }

    @Test
    void processOfNobodyKeepsNoLeaseAlive() throws Exception {
        Lease lease = start(ALICE);
        withMemory.add(machine.spawn().pid());
        ProcessId process = spawn(lease);
        sweep();
        machine.end(process);
        machine.end(init);
        await(GpuStatus.State.FREE);
    }
}
