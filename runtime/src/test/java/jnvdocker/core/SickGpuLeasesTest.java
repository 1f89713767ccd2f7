package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciCreation;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.MemoryUsers;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A GPU with a fault is not given out, on any path; its holder keeps it. */
class SickGpuLeasesTest {
    private static final Refusal FAULT = new Refusal("it fell off the bus", "reset it");
    private static final String REFUSED = " cannot be given out: it fell off the bus; reset it";

    @TempDir Path state;
    private final SimulatedMachine machine = new SimulatedMachine(Path.of("/"), () -> {});
    private final ProcessId dockerd = machine.spawn();
    private final Map<Gpu, Refusal> troubles = new ConcurrentHashMap<>();
    private LeaseParts parts;

    @BeforeEach
    void open() throws IOException {
        parts =
                TestingParts.open(
                        state,
                        machine,
                        TestingLeases.NO_USES,
                        gpu -> Optional.ofNullable(troubles.get(gpu)),
                        MemoryUsers.UNKNOWN,
                        A,
                        B);
    }

    @AfterEach
    void close() throws IOException {
        parts.close();
    }

    private Claim claim(GpuRequest request, Owner owner, Origin origin, ProcessId client)
            throws Exception {
        return parts.leases()
                .runs()
                .take(
                        new Request(request, Set.of(), owner, client, origin, Optional.empty()),
                        Optional.empty())
                .keep()
                .orElseThrow();
    }

    private Claim claim(GpuRequest request, Origin origin) throws Exception {
        return claim(request, ALICE, origin, machine.spawn());
    }

    private static GpuRequest device(Gpu gpu) {
        return new GpuRequest.Devices(List.of(String.valueOf(gpu.index())));
    }

    private List<GpuStatus.State> states() throws IOException {
        return parts.leases().status(List.of(A, B)).stream().map(GpuStatus::state).toList();
    }

    private static String refusal(Executable start) {
        return assertThrows(RefusedException.class, start).getMessage();
    }

    @Test
    void requestByNameIsRefusedForDockerMesosAndPrograms() throws Exception {
        troubles.put(A, FAULT);
        assertEquals(List.of(GpuStatus.State.SICK, GpuStatus.State.FREE), states());
        String expected = "GPU " + A.index() + " (" + A.shortUuid() + ")" + REFUSED;
        for (Origin origin :
                List.of(
                        TestingLeases.CUDA,
                        new Origin.HostProcess("train"),
                        new Origin.MesosTask("train"))) {
            assertEquals(expected, refusal(() -> claim(device(A), origin)));
        }
        assertEquals(
                expected,
                refusal(() -> TestingParts.take(parts, creation(device(A)), List.of(A, B))));
    }

    private OciCreation creation(GpuRequest request) {
        return TestingParts.creation(
                new OciContainers.Container("/run/runc", "c1"),
                "train-7",
                Optional.empty(),
                machine.spawn(),
                BOB,
                request);
    }

    @Test
    void countAndAllLeaveItOut() throws Exception {
        troubles.put(A, FAULT);
        Claim claim = claim(new GpuRequest.All(), TestingLeases.CUDA);
        assertEquals(List.of(B.uuid()), claim.gpus().stream().map(ClaimedGpu::uuid).toList());
        assertEquals(
                "2 GPUs requested, but only 1 GPU is in service: GPU "
                        + A.index()
                        + " is sick; request"
                        + " fewer ('jnvdocker gpu ls' shows them)",
                refusal(() -> claim(new GpuRequest.Count(2), TestingLeases.CUDA)));
    }

    @Test
    void stoppedContainerIsNotStartedOnItAndIsWhenItIsBack() throws Exception {
        ProcessId client = machine.spawn();
        Claim claim = claim(device(A), ALICE, TestingLeases.CUDA, client);
        machine.end(client);
        parts.leases().live();
        troubles.put(A, FAULT);
        String volume = ClaimNames.volume(claim.key());
        String refusal =
                assertThrows(
                                RefusedException.class,
                                () -> parts.volumes().mount(volume, "use", dockerd))
                        .getMessage();
        assertTrue(refusal.contains(REFUSED), refusal);
        troubles.clear();
        parts.volumes().mount(volume, "use", dockerd);
        assertEquals(GpuStatus.State.HELD, states().getFirst());
    }

    @Test
    void holderKeepsItWithTheReasonInTheNote() throws Exception {
        Claim claim = claim(device(A), TestingLeases.CUDA);
        parts.volumes().mount(ClaimNames.volume(claim.key()), "use", dockerd);
        troubles.put(A, FAULT);
        GpuStatus status = parts.leases().status(List.of(A, B)).getFirst();
        assertEquals(GpuStatus.State.HELD, status.state());
        assertTrue(status.note().startsWith("it fell off the bus"), status.note());
        assertEquals(
                "GPU " + A.index() + " (" + A.shortUuid() + ")" + REFUSED,
                refusal(() -> claim(device(A), BOB, TestingLeases.CUDA, machine.spawn())));
    }
}
