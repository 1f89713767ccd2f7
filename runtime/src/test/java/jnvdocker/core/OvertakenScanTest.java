package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.grant.FirstScan;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciCreation;
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

/** A scan of the uses of GPUs, and what happens between that and the decision. */
class OvertakenScanTest {
    private interface Change {
        void make() throws IOException;
    }

    @TempDir Path state;
    private Optional<Change> amidTheAssignment = Optional.empty();
    private Optional<Change> afterTheScan = Optional.empty();
    private SimulatedMachine machine;
    private final List<GpuUse> open = new ArrayList<>();
    private LeaseParts parts;
    private ProcessId program;
    private Lease lease;

    @BeforeEach
    void holdAndOpen() throws IOException {
        machine = new SimulatedMachine(state, this::moment);
        parts = TestingParts.open(state, machine, new Seen(), A);
        Claim claim = TestingLeases.claim("111111111111", BOB, A);
        program = machine.spawn(Optional.of(claim.id()), Optional.of("/docker/train"));
        TestingLeases.reserve(parts.registry(), claim, machine.spawn());
        TestingLeases.mount(parts.registry(), claim, "use", machine.spawn());
        TestingLeases.start(parts.registry(), claim, program, Optional.of("/docker/train"));
        lease = parts.registry().liveOf(claim.id()).orElseThrow();
        openBy(program);
    }

    @AfterEach
    void close() throws IOException {
        parts.close();
    }

    private void openBy(ProcessId process) {
        GpuUse.User user = new GpuUse.User(process, "python3", 1002, Optional.empty());
        open.add(new GpuUse(A, GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user)));
    }

    private void moment() {
        if (isAmid("assign")) {
            Optional<Change> change = amidTheAssignment;
            amidTheAssignment = Optional.empty();
            make(change);
        }
    }

    private static boolean isAmid(String method) {
        return StackWalker.getInstance()
                .walk(calls -> calls.anyMatch(it -> it.getMethodName().equals(method)));
    }

    private static void make(Optional<Change> change) {
        try {
            if (change.isPresent()) {
                change.get().make();
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private final class Seen implements GpuUses {
        @Override
        public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
            return scanWithoutEngine(gpus);
        }

        @Override
        public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
            List<GpuUse> seen = List.copyOf(open);
            // A creation begins a first scan on another thread, which may come before or after.
            if (isAmid("decide")) {
                Optional<Change> change = afterTheScan;
                afterTheScan = Optional.empty();
                make(change);
            }
            return seen;
        }
    }

    private void release() throws IOException {
        assertTrue(parts.keeper().endByForce(lease, "released"));
    }

    private void assertThatNobodyGetsTheGpu(ProcessId user) {
        Request request =
                new Request(
                        new GpuRequest.Count(1),
                        Set.of(),
                        ALICE,
                        machine.spawn(),
                        new Origin.HostProcess("train"),
                        Optional.empty());
        RefusedException refused =
                assertThrows(
                        RefusedException.class,
                        () -> parts.leases().runs().take(request, Optional.empty()).keep());
        String words = refused.getMessage();
        assertTrue(words.contains("python3 (pid " + user.pid() + ")"), words);
    }

    @Test
    void leaseThatEndsWhileUsesAreAssignedLeavesItsProgramToNobody() throws Exception {
        amidTheAssignment = Optional.of(this::release);
        assertThatNobodyGetsTheGpu(program);
        assertEquals(List.of(), parts.registry().live());
    }

    /** The program has left its container's cgroup, and the container ends. */
    @Test
    void leaseThatEndsByItselfWhileUsesAreAssignedLeavesItsProgramToNobody() throws Exception {
        amidTheAssignment =
                Optional.of(() ->
                        assertTrue(
                                TestingLeases.end(
                                        parts.registry(), lease, "its container is gone")));
        assertThatNobodyGetsTheGpu(program);
        assertEquals(List.of(), parts.registry().live());
    }

    @Test
    void leaseThatEndsAfterTheScanLeavesItsProgramToNobody() throws Exception {
        afterTheScan = Optional.of(this::release);
        assertThatNobodyGetsTheGpu(program);
    }

    /** The program opens the GPU while it has the lease, and after the scan. */
    @Test
    void programThatNoScanHasSeenIsSeenWhenItsLeaseHasEndedSince() throws Exception {
        open.clear();
        afterTheScan =
                Optional.of(() -> {
                    openBy(program);
                    release();
                });
        assertThatNobodyGetsTheGpu(program);
    }

    private static OciCreation creation(ProcessId runtime) {
        return TestingParts.creation(
                new OciContainers.Container("/run/runc/moby", "a"),
                "a",
                Optional.of("cuda"),
                runtime,
                ALICE,
                new GpuRequest.Count(1));
    }

    /** A creation begins a scan when it is requested, which may be long before the decision. */
    @Test
    void programThatAFirstScanHasNotSeenIsSeenWhenItsLeaseHasEndedSince() throws Exception {
        FirstScan before = new FirstScan(List.of(A), parts.keeper().forced(), List::of);
        release();
        RefusedException refused =
                assertThrows(
                        RefusedException.class,
                        () -> parts.oci().take(creation(machine.spawn()), before).keep());
        String words = refused.getMessage();
        assertTrue(words.contains("python3 (pid " + program.pid() + ")"), words);
    }

    /** Its first process is learnt of late: the decision ends, and so does the lease. */
    @Test
    void leaseOfTheLastStartThatChangesAfterTheScanIsNotEndedAsItWas() throws Exception {
        release();
        open.clear();
        ProcessId runtime = machine.spawn();
        Lease first = TestingParts.take(parts, creation(runtime), List.of(A));
        ProcessId init = machine.spawn();
        machine.end(init);
        machine.end(runtime);
        Holder started = first.holder().startedAs(init, Optional.empty());
        afterTheScan =
                Optional.of(() -> parts.registry().decide(leases -> leases.hold(first, started)));
        RefusedException refused =
                assertTimeoutPreemptively(
                        Duration.ofSeconds(20),
                        () ->
                                assertThrows(
                                        RefusedException.class,
                                        () ->
                                                TestingParts.take(
                                                        parts,
                                                        creation(machine.spawn()),
                                                        List.of(A))));
        assertTrue(refused.getMessage().contains("alice's container a"), refused::getMessage);
        assertEquals(started, parts.registry().liveOf(first.claim().id()).orElseThrow().holder());
    }
}
