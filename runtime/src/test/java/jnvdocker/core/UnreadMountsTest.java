package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.CUDA;
import static jnvdocker.lease.TestingLeases.THEN;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import jnvdocker.attack.Attack;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Life;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.posix.ProcessId;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Namespaces with more mounts than are read: any claim may be mounted there. */
@Attack(
        by = "a container that may mount",
        what = "makes more mounts than are read, by 16 MiB of mountinfo",
        result =
                "its own lease does not end while a process of it may live; those of other"
                        + " containers do")
class UnreadMountsTest {
    static final List<Origin> CONTAINERS =
            List.of(CUDA, new Origin.OciContainer("/run/docker", Optional.of("cuda")));

    private final SimulatedMachine machine = new SimulatedMachine(Path.of("/state"), () -> {});
    private final Evidence evidence =
            new Evidence(machine, machine.bootId(), machine.state(), List.of());
    private ProcessId first;

    @BeforeEach
    void start() {
        first = machine.spawn(Optional.of("111111111111"), Optional.of("/docker/train"));
    }

    private Lease lease(Origin origin, Optional<String> cgroup) {
        return new Lease(
                1,
                new Claim(
                        ClaimKey.secretless("111111111111"),
                        origin,
                        ALICE,
                        List.of(ClaimedGpu.of(A)),
                        THEN,
                        Optional.of(new Claim.ContainerRef("train", "train"))),
                Holder.of(machine.spawn(), Optional.of(first), cgroup),
                machine.bootId(),
                THEN,
                Optional.empty(),
                0,
                Optional.empty());
    }

    /** Of a lease of which nothing is seen any more. */
    private Life ended(Lease lease) {
        machine.end(first);
        machine.end(lease.holder().process());
        return evidence.of(lease);
    }

    @ParameterizedTest
    @FieldSource("CONTAINERS")
    void containerOfWhichAProcessMayBeThereIsNotGone(Origin origin) {
        Lease lease = lease(origin, Optional.of("/docker/train"));
        ProcessId unread = machine.spawn();
        machine.unread.add(unread);
        assertEquals(new Life.Unknown(), ended(lease));
        machine.end(unread);
        machine.unread.clear();
        assertInstanceOf(Life.Gone.class, evidence.of(lease));
    }

    @ParameterizedTest
    @FieldSource("CONTAINERS")
    void anotherContainerThatMountsManyKeepsNoLeaseFromItsEnd(Origin origin) {
        Lease lease = lease(origin, Optional.of("/docker/train"));
        machine.unread.add(machine.spawn(Optional.empty(), Optional.of("/docker/other")));
        assertInstanceOf(Life.Gone.class, ended(lease));
    }

    @ParameterizedTest
    @FieldSource("CONTAINERS")
    void containerWhoseCgroupIsNotKnownMayBeAnyOfThem(Origin origin) {
        Lease lease = lease(origin, Optional.empty());
        machine.unread.add(machine.spawn(Optional.empty(), Optional.of("/docker/other")));
        assertEquals(new Life.Unknown(), ended(lease));
    }
}
