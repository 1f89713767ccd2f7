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

/** What a container is from docker's mount of its claim on, until nothing of it runs. */
class StartingContainerTest {
    private final SimulatedMachine machine = new SimulatedMachine(Path.of("/state"), () -> {});
    private final Evidence evidence =
            new Evidence(machine, machine.bootId(), machine.state(), List.of());
    private final ProcessId dockerd = machine.spawn();

    private Life life(int mounts) {
        return life(mounts, Holder.of(dockerd, Optional.empty(), Optional.empty()));
    }

    private Life life(int mounts, Holder holder) {
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
                        holder,
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

    /** As one of a container in the container, which has mounts of its own. */
    @Test
    void processThatDoesNotSeeTheClaimCountsByItsCgroup() {
        Optional<String> cgroup = Optional.of("/docker/c1");
        ProcessId init = machine.spawn(Optional.of("111111111111"), cgroup);
        ProcessId other = machine.spawn(Optional.empty(), cgroup);
        Holder holder = Holder.of(dockerd, Optional.of(init), cgroup);
        machine.end(init);
        assertEquals(new Life.Running(init), life(0, holder));
        machine.end(other);
        assertEquals(
                new Life.Gone("its first process (pid " + init.pid() + ") is gone"),
                life(0, holder));
    }
}
