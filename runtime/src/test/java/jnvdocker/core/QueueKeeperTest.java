package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.decision.DecisionLog;
import jnvdocker.grant.Creation;
import jnvdocker.grant.QueueKeeper;
import jnvdocker.grant.Waiting;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.lease.BookingRule;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Connections;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Limits;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.AllowanceReader;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;
import jnvdocker.use.MemoryUsers;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Waiting clients, on threads of their own, and the keeper that serves them, one scan at a time.
 */
@Timeout(120)
@Attack(
        by = "a member",
        what = "waits a thousand times",
        result = "refused after 64, with the name of the key; one thread checks all tickets")
@Attack(
        by = "a member",
        what = "stops a client that waits or has GPUs reserved (SIGSTOP)",
        result = "passed by, with its place kept; named by `gpu ls`, `gpu why` and `gpu queue`")
class QueueKeeperTest {
    private static final GpuRequest ONE = new GpuRequest.Count(1);
    private static final GpuRequest ALL = new GpuRequest.All();

    @TempDir Path state;
    private final AtomicInteger scans = new AtomicInteger();
    private final AtomicInteger reads = new AtomicInteger();
    private final AtomicInteger uses = new AtomicInteger();
    private volatile Runnable moment = () -> {};
    private final SimulatedMachine machine =
            new SimulatedMachine(
                    Path.of("/"),
                    () -> {
                        scans.incrementAndGet();
                        moment.run();
                    });
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final List<Client> clients = new ArrayList<>();
    private volatile List<Gpu> gpus = List.of(A, B);
    private volatile GpuTraits traits = GpuTraits.UNKNOWN;

    /** The number of reads after which the GPUs are gone. */
    private final AtomicInteger readsUntilGone = new AtomicInteger(Integer.MAX_VALUE);

    private volatile List<GpuUse> unmanaged = List.of();
    private LeaseParts parts;

    @BeforeEach
    void open() throws IOException {
        parts = LeaseParts.open(world(TestingLeases.POLICY));
    }

    private LeaseParts.World world(LeasePolicy policy) {
        return new LeaseParts.World(
                state,
                "boot",
                "nvidia-docker",
                machine,
                new NoEngine(),
                this::inventory,
                new Seen(),
                GpuTroubles.NONE,
                MemoryUsers.UNKNOWN,
                () -> policy,
                Set::of,
                () -> traits,
                machine,
                TestingLeases.RANDOM,
                Pace.REAL,
                AllowanceReader.Groups.OF_THIS_HOST,
                new DecisionLog(Optional.empty()));
    }

    @AfterEach
    void close() throws IOException {
        threads.shutdownNow();
        threads.close();
        parts.close();
    }

    private List<Gpu> inventory() throws IOException {
        reads.incrementAndGet();
        if (readsUntilGone.getAndDecrement() <= 0) {
            return List.of();
        }
        if (gpus.isEmpty()) {
            throw new IOException("no NVIDIA driver is loaded");
        }
        return gpus;
    }

    private final class Seen implements GpuUses {
        @Override
        public List<GpuUse> scan(List<Gpu> among, Duration limit) {
            return scanWithoutEngine(among);
        }

        @Override
        public List<GpuUse> scanWithoutEngine(List<Gpu> among) {
            uses.incrementAndGet();
            return unmanaged;
        }
    }

    /** A waiting client, and the messages that it has received. */
    private record Client(ProcessId process, Future<Claim> claim, BlockingQueue<String> received) {
        String receive() throws InterruptedException {
            return received.take();
        }
    }

    private QueueKeeper keeper() {
        return parts.queueKeeper();
    }

    private Request request(GpuRequest request, Owner owner, ProcessId process) {
        return new Request(
                request,
                Set.of(),
                owner,
                process,
                new Origin.HostProcess("train"),
                Optional.empty());
    }

    private Claim hold(GpuRequest request, Owner owner) throws Exception {
        ProcessId process = machine.spawn();
        return parts.leases()
                .runs()
                .take(request(request, owner, process), Optional.empty())
                .keep()
                .orElseThrow();
    }

    /** Returns when the client is in the queue. */
    private Client waiting(GpuRequest request, Owner owner) throws Exception {
        ProcessId process = machine.spawn();
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        Waiting waiting = new Waiting(Optional.empty(), received::add);
        int before = parts.leases().waiting().size();
        Future<Claim> claim =
                threads.submit(() ->
                        parts.leases()
                                .runs()
                                .take(request(request, owner, process), Optional.of(waiting))
                                .keep()
                                .orElseThrow());
        while (parts.leases().waiting().size() == before && !claim.isDone()) {
            Thread.sleep(1);
        }
        Client client = new Client(process, claim, received);
        clients.add(client);
        return client;
    }

    private void release(Claim claim) throws Exception {
        parts.leases().reservations().cancel(claim);
    }

    private static List<Gpu> none() {
        return List.of();
    }

    @Test
    void crowdCostsAsMuchAsOne() throws Exception {
        Claim held = hold(ALL, BOB);
        for (int i = 0; i < 20; i++) {
            waiting(ONE, ALICE);
        }
        keeper().tick();
        for (Client client : clients) {
            assertTrue(client.receive().contains("GPUs 0,1 are reserved by bob's gpu run"));
        }
        int[] before = {scans.get(), reads.get(), uses.get()};
        parts.leases().waiting();
        assertEquals(before[0], scans.get());
        keeper().tick();
        // The clients next in the queue and some others, and the holder.
        assertTrue(scans.get() - before[0] < 30, () -> "" + (scans.get() - before[0]));
        assertEquals(before[1], reads.get());
        release(held);
        keeper().tick();
        List<Claim> first = List.of(clients.get(0).claim().get(), clients.get(1).claim().get());
        assertEquals(List.of(ClaimedGpu.of(A)), first.get(0).gpus());
        assertEquals(List.of(ClaimedGpu.of(B)), first.get(1).gpus());
        // One read for the queue, and one each for those two clients, which check that their GPU is
        // there.
        assertEquals(3, reads.get() - before[1]);
        assertEquals(1, uses.get() - before[2]);
        assertFalse(clients.get(2).claim().isDone());
    }

    @Test
    void waitForTheUsersOwnGpusIsNamedAndOthersPass() throws Exception {
        Claim own = hold(ONE, ALICE);
        Client alice = waiting(ALL, ALICE);
        keeper().tick();
        String words = alice.receive();
        assertTrue(
                words.startsWith(
                        "waiting for all GPUs, next in the queue; GPU 0 (GPU-5c1a1003) is reserved"
                                + " by alice's gpu run (pid "),
                words);
        assertTrue(
                words.contains("; others are served meanwhile: alice already holds GPU 0"), words);
        assertTrue(parts.leases().waiting().getFirst().obstacle().isPresent());
        Claim passing = hold(ONE, BOB);
        assertEquals(List.of(ClaimedGpu.of(B)), passing.gpus());
        release(own);
        keeper().tick();
        assertFalse(alice.receive().contains("others are served"));
        assertEquals(Optional.empty(), parts.leases().waiting().getFirst().obstacle());
        assertThrows(RefusedException.class, () -> hold(ONE, BOB));
        release(passing);
        keeper().tick();
        assertEquals(2, alice.claim().get().gpus().size());
    }

    /** Whoever waited while no daemon ran is not refused what is free, however late it is. */
    @Test
    void timeThatIsUpWhenTheNextDaemonComesIsNoReasonToRefuseWhatIsFree() throws Exception {
        Request late = request(ONE, ALICE, machine.spawn());
        parts.registry().addTicket(late, 0);
        parts.close();
        open();
        Waiting over = new Waiting(Optional.of(Duration.ZERO), _ -> {});
        Claim claim = parts.leases().runs().take(late, Optional.of(over)).keep().orElseThrow();
        assertEquals(List.of(ClaimedGpu.of(A)), claim.gpus());
        assertEquals(List.of(), parts.leases().waiting());
    }

    @Test
    void timeThatIsUpWhenTheNextDaemonComesIsRefusedWhatOthersHoldOrComeFirstFor()
            throws Exception {
        Request held = request(new GpuRequest.Devices(List.of("0")), ALICE, machine.spawn());
        Request first = request(ALL, BOB, machine.spawn());
        Request behind = request(ONE, ALICE, machine.spawn());
        for (Request each : List.of(first, behind, held)) {
            parts.registry().addTicket(each, 0);
        }
        parts.close();
        open();
        Waiting over = new Waiting(Optional.of(Duration.ZERO), _ -> {});
        String kept = gaveUp(behind, over);
        assertTrue(kept.startsWith("gave up after 0s: "), kept);
        assertTrue(kept.contains("kept for "), kept);
        parts.leases().runs().take(first, Optional.of(over)).keep().orElseThrow();
        String taken = gaveUp(held, over);
        assertTrue(taken.contains("GPU 0 (GPU-5c1a1003) is reserved by bob's gpu run"), taken);
        assertTrue(taken.endsWith("; wait longer with --gpu-wait"), taken);
    }

    private String gaveUp(Request request, Waiting over) {
        return assertThrows(
                        RefusedException.class,
                        () -> parts.leases().runs().take(request, Optional.of(over)))
                .getMessage();
    }

    /** What would not start after the wait does not wait, and what can have its GPUs is started. */
    @Test
    void trialIsMadeBeforeAWaitAndNotAgainByTheNextDaemon() throws Exception {
        Waiting tried =
                new Waiting(Optional.of(Duration.ZERO), _ -> {})
                        .trying(() -> {
                            throw new RefusedException("no such network", "name another");
                        });
        Claim free =
                parts.leases()
                        .runs()
                        .take(request(ALL, BOB, machine.spawn()), Optional.of(tried))
                        .keep()
                        .orElseThrow();
        Request late = request(ONE, ALICE, machine.spawn());
        assertEquals("no such network; name another", gaveUp(late, tried));
        assertEquals(List.of(), parts.leases().waiting());
        parts.registry().addTicket(late, 0);
        parts.close();
        open();
        assertTrue(gaveUp(late, tried).startsWith("gave up after "));
        release(free);
    }

    @Test
    void unmanagedUseIsNamedAndOthersPass() throws Exception {
        GpuUse.User user = new GpuUse.User(machine.spawn(), "python3", 1002, Optional.empty());
        unmanaged = List.of(new GpuUse(A, GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user)));
        Client alice = waiting(ALL, ALICE);
        keeper().tick();
        String words = alice.receive();
        assertTrue(words.contains("python3 (pid " + user.id().pid() + "), which jnvdocker"), words);
        assertTrue(words.endsWith("; others are served meanwhile"), words);
        Claim passing = hold(ONE, BOB);
        release(passing);
        machine.end(user.id());
        unmanaged = List.of();
        keeper().tick();
        assertEquals(2, alice.claim().get().gpus().size());
    }

    @Test
    void cordonWhileOneWaitsLetsOthersPassAndKeepsThePlace() throws Exception {
        Claim held = hold(ONE, BOB);
        Client alice = waiting(new GpuRequest.Devices(List.of("0", "1")), ALICE);
        parts.leases().cordons().add(List.of(A), BOB, "fan");
        keeper().tick();
        assertTrue(alice.receive().contains("cordoned by bob"));
        hold(ONE, BOB);
        parts.leases().cordons().remove(List.of(A));
        keeper().tick();
        assertFalse(alice.claim().isDone());
        for (Lease lease : parts.registry().live()) {
            release(lease.claim());
        }
        assertEquals(2, held.gpus().size() + 1);
        keeper().tick();
        assertEquals(2, alice.claim().get().gpus().size());
    }

    /** What the queue has chosen by is no longer so when the GPU is given. */
    private void amidTheGift(Change change) throws Exception {
        boolean[] done = {false};
        moment =
                () -> {
                    if (!done[0] && isWithin("give")) {
                        done[0] = true;
                        try {
                            change.make();
                        } catch (IOException | RefusedException e) {
                            throw new AssertionError(e);
                        }
                    }
                };
        keeper().tick();
        assertTrue(done[0]);
        moment = () -> {};
    }

    private interface Change {
        void make() throws IOException, RefusedException;
    }

    private static boolean isWithin(String method) {
        return StackWalker.getInstance()
                .walk(calls -> calls.anyMatch(it -> it.getMethodName().equals(method)));
    }

    @Test
    void gpuThatIsCordonedAfterTheChoiceIsNotGiven() throws Exception {
        Claim held = hold(ALL, BOB);
        Client alice = waiting(new GpuRequest.Count(2), ALICE);
        release(held);
        amidTheGift(() -> parts.leases().cordons().add(List.of(A), BOB, "fan"));
        assertFalse(alice.claim().isDone());
        assertEquals(List.of(), parts.registry().live());
        parts.leases().cordons().remove(List.of(A));
        keeper().tick();
        assertEquals(2, alice.claim().get().gpus().size());
    }

    @Test
    void gpuIsTakenBackFromAClientThatNoLongerWaits() throws Exception {
        Claim held = hold(ALL, BOB);
        Client alice = waiting(ONE, ALICE);
        release(held);
        amidTheGift(() -> {
            alice.claim().cancel(true);
            while (!parts.leases().waiting().isEmpty()) {
                Thread.onSpinWait();
            }
        });
        assertEquals(List.of(), parts.registry().live());
        assertEquals("its client no longer waits", lastEnd());
    }

    @Test
    void gpuThatIsBookedAfterTheChoiceIsNotGiven() throws Exception {
        Claim held = hold(ALL, BOB);
        Client alice = waiting(new GpuRequest.Count(2), ALICE);
        release(held);
        Instant now = machine.instant();
        amidTheGift(() ->
                parts.registry()
                        .decide(leases ->
                                leases.book(
                                        BOB,
                                        List.of(ClaimedGpu.of(B)),
                                        now.minusSeconds(60),
                                        now.plusSeconds(60))));
        assertFalse(alice.claim().isDone());
        assertEquals(List.of(), parts.registry().live());
    }

    @Test
    void gpuThatAnotherIsGivenAfterTheChoiceStaysTheOther() throws Exception {
        Claim held = hold(ALL, BOB);
        Client alice = waiting(new GpuRequest.Count(2), ALICE);
        release(held);
        Claim other = TestingLeases.claim("222222222222", BOB, B);
        ProcessId client = machine.spawn();
        amidTheGift(() -> TestingLeases.reserve(parts.registry(), other, client));
        assertFalse(alice.claim().isDone());
        assertEquals(
                List.of(other.id()),
                parts.registry().live().stream().map(it -> it.claim().id()).toList());
    }

    @Test
    void gpuThatVanishesAfterTheChoiceLeavesThePlace() throws Exception {
        Claim held = hold(ALL, BOB);
        Client alice = waiting(ALL, ALICE);
        Client bob = waiting(ONE, BOB);
        release(held);
        readsUntilGone.set(1);
        keeper().tick();
        while (parts.registry().history().past(Long.MAX_VALUE, 10).size() < 2) {
            Thread.sleep(1);
        }
        assertEquals("its GPU vanished before it could be used", lastEnd());
        assertEquals(
                List.of(alice.process(), bob.process()),
                parts.leases().waiting().stream()
                        .map(it -> it.ticket().request().client())
                        .toList());
        readsUntilGone.set(Integer.MAX_VALUE);
        keeper().tick();
        assertEquals(2, alice.claim().get().gpus().size());
        assertFalse(bob.claim().isDone());
    }

    @Test
    void allAreAllThatAreThereThenAndADriverMayBeAwayMeanwhile() throws Exception {
        gpus = List.of(A);
        Claim held = hold(ALL, BOB);
        Client alice = waiting(ALL, ALICE);
        gpus = none();
        release(held);
        keeper().tick();
        assertTrue(alice.receive().contains("no NVIDIA driver is loaded"));
        gpus = List.of(A, B);
        parts.registry().changes().add();
        keeper().tick();
        assertEquals(2, alice.claim().get().gpus().size());
    }

    @Test
    void userWaitsSoOftenAndNoOftener() throws Exception {
        parts.close();
        LeasePolicy few =
                new LeasePolicy(
                        Limits.NONE,
                        2,
                        List.of(),
                        List.of(),
                        false,
                        Optional.empty(),
                        BookingRule.NONE);
        parts = LeaseParts.open(world(few));
        hold(ALL, BOB);
        waiting(ONE, ALICE);
        waiting(ONE, ALICE);
        Client third = waiting(ONE, ALICE);
        var refusal = assertThrows(ExecutionException.class, () -> third.claim().get());
        assertEquals(
                "alice already has 2 waiting clients, the limit per user (max_waits_per_user);"
                        + " start this when one of them has been served, or end one ('jnvdocker gpu"
                        + " queue' shows their pids)",
                assertInstanceOf(RefusedException.class, refusal.getCause()).getMessage());
        assertFalse(waiting(ONE, new Owner(0, "root")).claim().isDone());
        assertFalse(waiting(ONE, BOB).claim().isDone());
    }

    @Test
    void clientThatDiesLeavesNoPlaceAndIsGivenNothing() throws Exception {
        Claim held = hold(ALL, BOB);
        Client first = waiting(ALL, ALICE);
        Client second = waiting(ONE, ALICE);
        machine.end(first.process());
        release(held);
        keeper().tick();
        second.claim().get();
        assertThrows(ExecutionException.class, () -> first.claim().get());
        assertEquals(List.of(), parts.leases().waiting());
        assertEquals(List.of(), parts.registry().tickets());
    }

    /** By Ctrl-Z: it could not take the GPUs that it is given. */
    @Test
    void clientThatIsStoppedIsPassedByAndKeepsItsPlace() throws Exception {
        Claim held = hold(ALL, BOB);
        Client first = waiting(ALL, ALICE);
        Client second = waiting(ONE, ALICE);
        machine.stopped.add(first.process());
        release(held);
        keeper().tick();
        Claim passing = second.claim().get();
        assertFalse(first.claim().isDone());
        assertEquals(
                Optional.of(
                        "its process is stopped ('kill -CONT "
                                + first.process().pid()
                                + "' resumes it)"),
                parts.leases().waiting().getFirst().obstacle());
        machine.stopped.clear();
        release(passing);
        Thread.sleep(1000); // it is checked once a second
        keeper().tick();
        keeper().tick();
        assertEquals(2, first.claim().get().gpus().size());
    }

    @Test
    void uninstallEndsTheWaitOnlyWhenItIsDone() throws Exception {
        Claim held = hold(ALL, BOB);
        Client first = waiting(ONE, BOB);
        Client alice = waiting(ALL, ALICE);
        parts.grants().stop();
        release(held);
        keeper().tick();
        assertEquals(2, parts.leases().waiting().size());
        // It was refused.
        parts.grants().resume();
        keeper().tick();
        assertEquals(1, first.claim().get().gpus().size());
        assertFalse(alice.claim().isDone());
        parts.grants().stop();
        parts.grants().refuseWaiting();
        var refusal = assertThrows(ExecutionException.class, () -> alice.claim().get());
        assertTrue(refusal.getMessage().contains("is being uninstalled"), refusal::getMessage);
    }

    /** The threads are started as in the daemon. */
    @Test
    void threadsServeThoseWhoWait() throws Exception {
        Claim held = hold(ALL, BOB);
        Client alice = waiting(ALL, ALICE);
        Client bob = waiting(ONE, BOB);
        try (AutoCloseable _ = keeper().start()) {
            assertTrue(alice.receive().contains("next in the queue"));
            assertTrue(bob.receive().contains("number 2 in the queue"));
            release(held);
            Claim all = alice.claim().get();
            machine.end(alice.process());
            assertEquals(2, all.gpus().size());
            assertEquals(1, bob.claim().get().gpus().size());
        }
    }

    private void setMemory(long ofA, long ofB) {
        traits = new GpuTraits(Connections.UNKNOWN, Map.of(A.uuid(), ofA, B.uuid(), ofB));
    }

    @Test
    void whoWaitsForMemoryGetsThatAndKeepsThePlaceWhileItIsUnknown() throws Exception {
        setMemory(16L << 30, 40L << 30);
        Claim held = hold(GpuRequest.parseOption("memory=40G"), BOB);
        assertEquals(List.of(ClaimedGpu.of(B)), held.gpus());
        GpuRequest request = GpuRequest.parseOption("memory=40G,model=a100");
        Client alice = waiting(request, ALICE);
        keeper().tick();
        assertTrue(
                alice.receive()
                        .startsWith(
                                "waiting for 1 GPU of model a100 with at least 40 GB of memory,"
                                        + " next in the queue; none of these is free: GPU 1"
                                        + " (GPU-5c1a2006) is reserved by bob's gpu run"));
        assertEquals(request, parts.registry().tickets().getFirst().requested().request());
        traits = GpuTraits.UNKNOWN;
        release(held);
        keeper().tick();
        String words = alice.receive();
        assertTrue(words.contains("NVML does not report the memory of GPUs 0,1"), words);
        assertFalse(alice.claim().isDone());
        setMemory(16L << 30, 40L << 30);
        do {
            keeper().tick();
        } while (!alice.claim().isDone());
        assertEquals(List.of(ClaimedGpu.of(B)), alice.claim().get().gpus());
    }

    @Test
    void containerThatStartsAgainKeepsItsGpuWhileTheMemoryIsUnknown() throws Exception {
        GpuRequest request = GpuRequest.parseOption("memory=40G");
        assertThrows(RefusedException.class, () -> again(request, Set.of()));
        assertEquals(List.of(ClaimedGpu.of(B)), again(request, Set.of(B.uuid())).gpus());
    }

    /** The claim of a container that had these GPUs before. */
    private Claim again(GpuRequest request, Set<String> had) throws Exception {
        var container = new Claim.ContainerRef("c".repeat(64), "train");
        return parts.grants()
                .take(
                        new Request(
                                request,
                                Set.of(),
                                ALICE,
                                machine.spawn(),
                                new Origin.OciContainer("/run/docker", Optional.of("cuda")),
                                Optional.empty()),
                        new Creation(
                                container,
                                Optional.empty(),
                                had,
                                Optional.empty(),
                                Pace.REAL.nanos()))
                .orElseThrow()
                .claim();
    }

    /** The evidence of the end that was written last. */
    private String lastEnd() throws IOException {
        return parts.registry()
                .history()
                .past(Long.MAX_VALUE, 1)
                .getFirst()
                .end()
                .orElseThrow()
                .evidence();
    }
}
