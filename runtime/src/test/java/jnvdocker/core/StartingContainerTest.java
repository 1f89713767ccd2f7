package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.CUDA;
import static jnvdocker.lease.TestingLeases.THEN;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.Life;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;

import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What a container is between docker's mount of its claim and its first process. */
class StartingContainerTest {
    private final SimulatedMachine machine = new SimulatedMachine(Path.of("/state"), () -> {});
    private final Evidence evidence =
            new Evidence(machine, machine.bootId(), machine.state(), List.of());
    private final ProcessId dockerd = machine.spawn();

    private Life life(int mounts) {
        return evidence.of(
                new Lease(
                        1,
                        new Claim(
                                ClaimKey.secretless("111111111111"),
                                CUDA,
                                ALICE,
                                List.of(ClaimedGpu.of(A)),
                                THEN,
                                Optional.empty()),
                        Holder.of(dockerd, Optional.empty(), Optional.empty()),
                        machine.bootId(),
                        THEN,
                        Optional.empty(),
                        mounts,
                        Optional.empty()));
    }

    @Test
    void itStartsForAsLongAsDockerHasItsClaimMounted() {
        assertEquals(new Life.Starting(), life(1));
        assertEquals(new Life.Gone("docker has unmounted it, and nothing of it runs"), life(0));
    }

    @Test
    void itsStartEndsWithTheEngine() {
        machine.end(dockerd);
        assertEquals(
                new Life.Gone("the engine that mounted it is gone, and nothing of it runs"),
                life(1));
    }
}
