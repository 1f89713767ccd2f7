package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.Memory;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.TestingLeases;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.Ground;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.SeenEnd;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.MemoryUsers;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/** The one thread that ends leases, and a host that misbehaves. */
@Timeout(60)
@Attack(
        by = "a fault",
        what = "the thread that ends leases meets an unforeseen error, or hangs",
        result =
                "a lease that cannot be checked keeps no other from its end; a caller waits a"
                        + " second at most")
@Attack(
        by = "a fault",
        what = "the mount table cannot be read when the daemon starts",
        result = "it starts, no lease is lost, and nothing is given out until it can be read")
@Attack(
        by = "a fault",
        what =
                "the engine's word about a lease comes when docker has mounted the claim again,"
                        + " also when that mount could not be written",
        result = "the lease goes on")
@Attack(
        by = "a fault",
        what =
                "a container is created again hundreds of times within the moment in which it"
                        + " may be",
        result = "nothing about its earlier leases stays in memory")
@Attack(
        by = "a fault",
        what = "an engine's word of a first process comes after a newer mount",
        result = "it is not written")
@Attack(
        by = "a fault",
        what = "a container starts again with fewer GPUs",
        result = "clients that wait are woken for the others")
class KeeperTest {
    private static final OciContainers.Container TRAIN =
            new OciContainers.Container("/run/runc", "c".repeat(64));

    @TempDir Path state;
    private Runnable moment = () -> {};
    private final SimulatedMachine machine = new SimulatedMachine(Path.of("/"), () -> moment.run());
    private LeaseParts parts;

    @BeforeEach
    void open() throws IOException {
        parts = TestingParts.open(state, machine, TestingLeases.NO_USES, A, B);
    }

    @AfterEach
    void close() throws IOException {
        moment = () -> {};
        parts.keeper().close();
        parts.close();
    }

    private Lease reserved(String id, Owner owner, Gpu gpu, ProcessId client) throws IOException {
        Claim claim = TestingLeases.claim(id, owner, gpu);
        TestingLeases.reserve(parts.registry(), claim, client);
        return parts.registry().liveOf(id).orElseThrow();
    }

    private void awaitEnd(Lease lease) throws Exception {
        LeaseRegistry registry = parts.registry();
        while (registry.liveOf(lease.claim().id()).isPresent()) {
            long seen = registry.changes().count();
            registry.changes().await(seen, Duration.ofMillis(50));
        }
    }

    @Test
    void leaseThatCannotBeCheckedKeepsNoOtherFromItsEnd() throws Exception {
        ProcessId first = machine.spawn();
        ProcessId second = machine.spawn();
        Lease one = reserved("111111111111", ALICE, A, first);
        Lease two = reserved("222222222222", BOB, B, second);
        machine.end(first);
        machine.end(second);
        int[] scans = {0};
        moment =
                () -> {
                    if (scans[0]++ == 0) {
                        throw new IllegalStateException("a process that nobody has thought of");
                    }
                };
        parts.keeper().start();
        parts.keeper().wake(List.of(one, two));
        awaitEnd(two);
        parts.keeper().wake(List.of(one));
        awaitEnd(one);
    }

    /** Before the period is over in which it checks all: a caller waits for its turn, a second. */
    @Test
    void keeperThatSleepsIsWoken() throws Exception {
        parts.keeper().start();
        Thread keeper = keeper();
        boolean ended = false;
        // This machine may be slow, but not each time.
        for (int i = 0; i < 3 && !ended; i++) {
            ProcessId client = machine.spawn();
            Lease lease = reserved("11111111111" + i, ALICE, A, client);
            machine.end(client);
            while (keeper.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            ended = parts.keeper().end(List.of(lease), Keeper.Caller.WAITER);
            if (!ended) {
                parts.keeper().endByForce(lease, "for the next attempt");
            }
        }
        assertTrue(ended);
    }

    /** Time stands still: nothing is checked unless somebody requests that. */
    @Test
    void requestAmidACheckIsServedAfterThat() throws Exception {
        parts.close();
        parts = TestingParts.open(state, machine, TestingLeases.NO_USES, new StillPace(), A, B);
        ProcessId first = machine.spawn();
        ProcessId second = machine.spawn();
        Lease one = reserved("111111111111", ALICE, A, first);
        Lease two = reserved("222222222222", BOB, B, second);
        machine.end(first);
        machine.end(second);
        parts.keeper().start();
        Thread keeper = keeper();
        Thread other = new Thread(() -> parts.keeper().wake(List.of(two)));
        moment =
                () -> {
                    if (Thread.currentThread() == keeper && other.getState() == Thread.State.NEW) {
                        other.start();
                        awaitEndOf(other);
                    }
                };
        parts.keeper().wake(List.of(one));
        awaitEnd(one);
        awaitEnd(two);
    }

    private static Thread keeper() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("keeper"))
                .findFirst()
                .orElseThrow();
    }

    private static void awaitEndOf(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void hungKeeperKeepsNoCallerForLong() throws Exception {
        ProcessId client = machine.spawn();
        Lease lease = reserved("111111111111", ALICE, A, client);
        machine.end(client);
        CountDownLatch goOn = new CountDownLatch(1);
        Thread caller = Thread.currentThread();
        moment =
                () -> {
                    if (Thread.currentThread() != caller) {
                        try {
                            goOn.await();
                        } catch (InterruptedException e) {
                            Thread.currentThread().interrupt();
                        }
                    }
                };
        parts.keeper().start();
        assertTrue(!parts.keeper().end(List.of(lease), Keeper.Caller.WAITER));
        goOn.countDown();
        awaitEnd(lease);
    }

    @Test
    void hostWhoseMountsCannotBeReadLosesNoLease() throws Exception {
        ProcessId runtime = machine.spawn();
        Lease lease = create(runtime, new GpuRequest.Count(1));
        machine.end(runtime);
        parts.close();
        moment =
                () -> {
                    if (StackWalker.getInstance()
                            .walk(calls ->
                                    calls.anyMatch(it -> it.getMethodName().equals("mounts")))) {
                        throw new UncheckedIOException(new IOException("mountinfo: not now"));
                    }
                };
        open();
        parts.keeper().sweep();
        parts.keeper().end(List.of(lease), Keeper.Caller.VERB);
        assertEquals(List.of(lease), parts.registry().live());
        // Nothing but that has kept it.
        moment = () -> {};
        parts.keeper().sweep();
        assertEquals(List.of(), parts.registry().live());
    }

    private Lease create(ProcessId runtime, GpuRequest request) throws Exception {
        return TestingParts.take(
                parts,
                TestingParts.creation(TRAIN, "train", Optional.empty(), runtime, ALICE, request),
                List.of(A, B));
    }

    @Test
    void manyRestartsLeaveNothingBehindInMemory() throws Exception {
        Evidence evidence = new Evidence(machine, machine.bootId(), state, List.of());
        Leftovers leftovers = new Leftovers(evidence, MemoryUsers.UNKNOWN);
        Map<Lease, Memory> remembered = new LinkedHashMap<>();
        Optional<ProcessId> last = Optional.empty();
        try (Keeper keeper =
                new Keeper(
                        parts.registry(),
                        evidence,
                        leftovers,
                        new NoEngine(),
                        Pace.REAL,
                        "nvidia-docker")) {
            for (int i = 0; i < 200; i++) {
                ProcessId runtime = machine.spawn();
                Lease lease = create(runtime, new GpuRequest.Count(1));
                ProcessId init =
                        machine.spawn(
                                Optional.of(lease.claim().id()), Optional.of("/docker/train"));
                last.ifPresent(machine::end);
                machine.end(runtime);
                parts.registry()
                        .decide(leases ->
                                leases.hold(
                                        lease,
                                        lease.holder()
                                                .startedAs(init, Optional.of("/docker/train"))));
                machine.end(init);
                // Found to be gone, and created again before its time is over.
                keeper.end(parts.registry().live(), Keeper.Caller.WAITER);
                remembered.put(lease, evidence.memory(lease));
                last = Optional.of(init);
            }
            keeper.sweep();
        }
        List<Lease> still =
                remembered.keySet().stream()
                        .filter(it -> evidence.memory(it) == remembered.get(it))
                        .toList();
        assertTrue(still.size() <= 1, still::toString);
    }

    @Test
    void startThatTakesFewerGpusWakesThoseWhoWaitForTheRest() throws Exception {
        ProcessId runtime = machine.spawn();
        Lease both = create(runtime, new GpuRequest.Count(2));
        machine.end(runtime);
        long before = parts.registry().changes().count();
        Lease one = create(machine.spawn(), new GpuRequest.Count(1));
        assertEquals(1, one.claim().gpus().size());
        assertTrue(both.id() < one.id());
        assertTrue(parts.registry().changes().count() > before);
    }

    /** A lease whose claim docker has mounted. */
    private Lease mount() throws Exception {
        Claim claim = TestingLeases.claim("111111111111", ALICE, A);
        ProcessId engine = machine.spawn();
        TestingLeases.reserve(parts.registry(), claim, engine);
        return TestingLeases.mount(parts.registry(), claim, "use", engine);
    }

    /** What that lease has become when docker has mounted its claim once more. */
    private Lease mountAgain(Lease seen) throws Exception {
        return TestingLeases.mount(parts.registry(), seen.claim(), "use", seen.holder().process());
    }

    private static SeenEnd hasNone(Lease lease) {
        return new SeenEnd(lease, "the engine has no container of it", Ground.SAID_BY_ENGINE);
    }

    /** Its word about the last start may come when docker has the claim mounted for the next. */
    @Test
    void wordAboutALeaseDoesNotEndWhatTheLeaseHasBecome() throws Exception {
        Lease seen = mount();
        Lease mountedAgain = mountAgain(seen);
        assertTrue(!parts.keeper().end(hasNone(seen)));
        assertEquals(List.of(mountedAgain), parts.registry().live());
        assertTrue(parts.keeper().end(hasNone(mountedAgain)));
        assertEquals(List.of(), parts.registry().live());
    }

    /** A full disk, say: no row tells the two starts apart. */
    @Test
    void wordAboutTheLastStartDoesNotEndWhatDockerHasMountedAgainUnwritten() throws Exception {
        Lease lease = mount();
        ProcessId engine = machine.spawn();
        parts.keeper().mountedUnwritten(lease, engine);
        assertTrue(!parts.keeper().end(hasNone(lease)));
        assertEquals(List.of(lease), parts.registry().live());
        machine.end(engine);
        assertTrue(parts.keeper().end(hasNone(lease)));
        assertEquals(List.of(), parts.registry().live());
    }

    @Test
    void olderWordOfTheFirstProcessIsNotWrittenOverANewerMount() throws Exception {
        Lease seen = mount();
        Lease mountedAgain = mountAgain(seen);
        Holder old = seen.holder().startedAs(machine.spawn(), Optional.empty());
        assertEquals(Optional.empty(), parts.registry().decide(leases -> leases.hold(seen, old)));
        assertEquals(List.of(mountedAgain), parts.registry().live());
    }
}
