package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
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
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** When docker mounts a claim, its GPUs may have come into use by others. */
class UsesBeforeMountTest {
    @TempDir Path state;
    private final SimulatedMachine machine = new SimulatedMachine(Path.of("/"), () -> {});
    private final ProcessId dockerd = machine.spawn();
    private final List<GpuUse> seen = new ArrayList<>();
    private int scans;
    private LeaseParts parts;

    @BeforeEach
    void open() throws IOException {
        parts = TestingParts.open(state, machine, new Seen(), A);
    }

    @AfterEach
    void close() throws IOException {
        parts.close();
    }

    private final class Seen implements GpuUses {
        @Override
        public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
            return scanWithoutEngine(gpus);
        }

        @Override
        public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
            scans++;
            return List.copyOf(seen);
        }
    }

    /** Reserves the GPU, which another user's process then opens. */
    private ClaimKey claim() throws Exception {
        Request request =
                new Request(
                        new GpuRequest.Count(1),
                        Set.of(),
                        ALICE,
                        machine.spawn(),
                        TestingLeases.CUDA,
                        Optional.empty());
        Claim claim = parts.leases().runs().take(request, Optional.empty()).keep().orElseThrow();
        GpuUse.User user = new GpuUse.User(machine.spawn(), "python3", 1002, Optional.empty());
        seen.add(new GpuUse(A, GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user)));
        return claim.key();
    }

    private void mount(ClaimKey claim) throws RefusedException, IOException {
        parts.volumes().mount(ClaimNames.volume(claim), "use", dockerd);
    }

    /** Every user sees the id of a reservation. */
    @Test
    void volumeWithoutTheSecretOfAReservationIsNone() throws Exception {
        ClaimKey claim = claim();
        seen.clear();
        for (ClaimKey made :
                List.of(
                        ClaimKey.secretless(claim.id()),
                        new ClaimKey(claim.id(), "0".repeat(32)),
                        new ClaimKey(claim.id(), TestingLeases.newKey().secret()))) {
            String name = ClaimNames.volume(made);
            assertThrows(
                    RefusedException.class, () -> parts.volumes().create(name, Map.of()), name);
            assertThrows(RefusedException.class, () -> parts.volumes().get(name), name);
            assertThrows(RefusedException.class, () -> mount(made), name);
            assertThrows(RefusedException.class, () -> parts.volumes().remove(name), name);
        }
        Lease reserved = parts.registry().liveOf(claim.id()).orElseThrow();
        assertTrue(reserved.isReservation());
        parts.volumes().create(ClaimNames.volume(claim), Map.of());
        mount(claim);
        assertFalse(parts.registry().liveOf(claim.id()).orElseThrow().isReservation());
    }

    @Test
    void nobodyLooksTwiceInOneRun() throws Exception {
        ClaimKey claim = claim();
        machine.pass(Duration.ofMillis(500));
        mount(claim);
        assertEquals(1, scans);
    }

    @Test
    void containerOfBeforeIsNotStartedOnAGpuThatIsUsed() throws Exception {
        ClaimKey claim = claim();
        machine.pass(Duration.ofSeconds(2));
        RefusedException refusal = assertThrows(RefusedException.class, () -> mount(claim));
        assertTrue(refusal.getMessage().contains("python3"), refusal.getMessage());
        assertEquals(2, scans);
    }

    @Test
    void clockThatWasSetBackMakesNoScanCount() throws Exception {
        ClaimKey claim = claim();
        machine.pass(Duration.ofSeconds(2));
        machine.setClock(Duration.ofHours(-1));
        assertThrows(RefusedException.class, () -> mount(claim));
    }
}
