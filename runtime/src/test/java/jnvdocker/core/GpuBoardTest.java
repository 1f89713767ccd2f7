package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.holder.Evidence;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Share;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.request.MemorySize;

import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** The states of GPUs that the driver does not show any more. */
class GpuBoardTest {
    private static List<GpuStatus> status(Lease... leases) {
        Holdings holdings = TestingLeases.holdings(List.of(leases), Map.of());
        return new GpuBoard(
                        holdings,
                        new Evidence(
                                new SimulatedMachine(Path.of("/"), () -> {}),
                                "boot",
                                Path.of("/state"),
                                List.of()),
                        TestingLeases.choice(
                                List.of(),
                                GpuTraits.UNKNOWN,
                                holdings,
                                UnmanagedUses.NONE,
                                List.of(),
                                TestingLeases.policy(
                                        OptionalInt.empty(), Optional.empty(), List.of(), false)),
                        true,
                        List.of())
                .status();
    }

    private static Lease share(long id, Owner owner, Gpu gpu) {
        return TestingLeases.sharing(
                TestingLeases.held(id, owner, "c" + id, gpu),
                new Share(MemorySize.parse("10G").orElseThrow(), 40L << 30));
    }

    @Test
    void eachHolderOfAMissingSharedGpuIsShown() {
        List<GpuStatus> all = status(share(1, ALICE, A), share(2, BOB, A));
        assertEquals(1, all.size());
        List<GpuStatus> each = all.getFirst().each();
        assertEquals(
                List.of(1L, 2L), each.stream().map(it -> it.lease().orElseThrow().id()).toList());
        each.forEach(it -> assertEquals(GpuStatus.State.MISSING, it.state()));
    }

    @Test
    void missingGpuOfOneHolderHasOneState() {
        List<GpuStatus> all = status(TestingLeases.held(1, ALICE, "train", B));
        assertEquals(GpuStatus.State.MISSING, all.getFirst().state());
        assertEquals(1, all.getFirst().each().size());
    }
}
