package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.DOCKERD;
import static jnvdocker.lease.TestingLeases.claim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.HistoryKeeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Share;
import jnvdocker.lease.TestingLeases;
import jnvdocker.request.MemorySize;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** The GPU time of users within a window, and what is left of it after old leases are deleted. */
class GpuTimeTest extends OneRegistryTest {
    private static final Instant START = Instant.parse("2024-01-02T00:00:00Z");

    private int claims;

    GpuTimeTest() {
        super(START);
    }

    @Test
    void nobodyHasHadAnythingInANewRegistry() throws Exception {
        assertEquals(new GpuTime(START, now, List.of()), since(0));
        assertEquals(Duration.ZERO, since(0).total());
    }

    @Test
    void aLeaseCountsOncePerGpu() throws Exception {
        lease(0, 2, ALICE, A, B, C);
        at(10);
        assertEquals(List.of(use(ALICE, 6, 1, 1, 0, 2)), since(0).users());
        assertEquals(Duration.ofHours(6), since(0).total());
    }

    @Test
    void theUserWithTheMostComesFirst() throws Exception {
        lease(0, 1, BOB, A, B);
        lease(1, 4, ALICE, A);
        lease(4, 5, ALICE, B);
        at(5);
        assertEquals(List.of(use(ALICE, 4, 2, 2, 0, 5), use(BOB, 2, 1, 1, 0, 1)), since(0).users());
    }

    @Test
    void leaseFromBeforeTheWindowCountsFromItsStart() throws Exception {
        lease(0, 4, ALICE, A, B);
        at(6);
        assertEquals(List.of(use(ALICE, 2, 1, 1, 0, 4)), since(3).users());
    }

    @Test
    void leaseThatEndedBeforeTheWindowOrAtItsStartDoesNotCount() throws Exception {
        lease(0, 3, ALICE, A);
        lease(0, 1, BOB, B);
        at(6);
        assertEquals(List.of(), since(3).users());
    }

    @Test
    void aLiveLeaseCountsUntilNow() throws Exception {
        Lease lease = mounted(1, ALICE, A, B);
        at(4);
        assertEquals(List.of(use(ALICE, 6, 1, 1, 2, 4)), since(0).users());
        assertEquals(List.of(use(ALICE, 2, 1, 1, 2, 4)), since(3).users());
        TestingLeases.end(registry, lease, "seen");
        at(9);
        assertEquals(List.of(use(ALICE, 6, 1, 1, 0, 4)), since(0).users());
    }

    /** Each hour of a GPU is counted once, whoever of a party ends first. */
    @Test
    void aPartyHasItsGpusOnce() throws Exception {
        Lease first = mounted(0, ALICE, A, B);
        Lease second = beside(first, 1);
        assertEquals(List.of(use(ALICE, 2, 2, 2, 2, 1)), since(0).users());
        at(3);
        TestingLeases.end(registry, first, "seen");
        Lease third = beside(second, 4);
        at(6);
        TestingLeases.end(registry, second, "seen");
        at(7);
        assertEquals(List.of(use(ALICE, 14, 3, 3, 2, 7)), since(0).users());
        TestingLeases.end(registry, third, "seen");
        at(9);
        assertEquals(List.of(use(ALICE, 14, 3, 3, 0, 7)), since(0).users());
        assertEquals(Duration.ofHours(8), since(3).total());
        assertEquals(Duration.ofHours(7), of(A, 0).total());
    }

    @Test
    void aShareCountsAsItsPart() throws Exception {
        Lease alices = share(0, ALICE, "10GiB");
        share(0, BOB, "20GiB");
        at(4);
        assertEquals(
                List.of(use(BOB, 2, 1, 1, 0.5, 4), use(ALICE, 1, 1, 1, 0.25, 4)), since(0).users());
        TestingLeases.end(registry, alices, "seen");
        at(8);
        assertEquals(
                List.of(use(BOB, 4, 1, 1, 0.5, 8), use(ALICE, 1, 1, 1, 0, 4)), since(0).users());
    }

    /** Ended leases, live ones, and reservations that came to nothing. */
    @Test
    void anInstanceCountsAsItsSlices() throws Exception {
        Gpu three = TestingLeases.part(A, 0);
        Gpu unknown = TestingLeases.part(A, 1, Optional.empty());
        Lease alices = mounted(0, ALICE, three);
        mounted(0, BOB, unknown);
        at(7);
        TestingLeases.end(registry, alices, "seen");
        at(14);
        assertEquals(
                List.of(use(BOB, 14, 1, 1, 1, 14), use(ALICE, 3, 1, 1, 0, 7)), since(0).users());
        assertEquals(Duration.ofHours(3), of(three, 0).total());
        idle(alices, three, Map.of(0, Duration.ofMinutes(35)));
        assertEquals(Duration.ofMinutes(15), idleOf(since(0), ALICE));
        Claim nothing = reserve(ALICE, three);
        at(21);
        TestingLeases.end(
                registry, registry.liveOf(nothing.id()).orElseThrow(), "docker was not run");
        assertEquals(Duration.ofHours(6), since(0).of(ALICE));
        at(30);
        assertEquals(1, registry.history().fold(Duration.ofHours(1), 9));
        assertEquals(Duration.ofHours(6), since(0).of(ALICE));
    }

    /** A container with an amount of the 40 GiB of a GPU. */
    private Lease share(int hour, Owner owner, String amount) throws Exception {
        at(hour);
        Share share = new Share(MemorySize.parse(amount).orElseThrow(), 40L << 30);
        Claim whole = TestingLeases.claim(TestingLeases.newKey().id(), owner, A);
        Claim claim =
                new Claim(
                        whole.key(),
                        whole.origin(),
                        owner,
                        List.of(ClaimedGpu.of(A, Optional.of(share))),
                        whole.created(),
                        Optional.empty());
        registry.decide(leases -> {
            leases.add(claim, Optional.empty());
            return null;
        });
        return TestingLeases.mount(registry, claim, "use", DOCKERD);
    }

    /** Another container of the user's, on the same GPUs. */
    private Lease beside(Lease other, int hour) throws Exception {
        at(hour);
        Claim its = other.claim();
        Claim claim =
                new Claim(
                        TestingLeases.newKey(),
                        its.origin(),
                        its.owner(),
                        its.gpus(),
                        its.created(),
                        Optional.empty(),
                        its.party());
        registry.decide(leases -> {
            leases.add(claim, Optional.empty());
            return null;
        });
        return TestingLeases.mount(registry, claim, "use", DOCKERD);
    }

    @Test
    void windowMayEndBeforeNow() throws Exception {
        lease(0, 4, ALICE, A);
        lease(5, 7, BOB, B);
        Lease live = mounted(3, BOB, C);
        at(9);
        GpuTime early =
                registry.history()
                        .gpuTime(
                                START,
                                Optional.of(START.plus(Duration.ofHours(4))),
                                Optional.empty());
        assertEquals(Duration.ofHours(5), early.total());
        assertEquals(START.plus(Duration.ofHours(4)), early.until());
        assertEquals(Duration.ofHours(1), early.of(BOB));
        assertEquals(1, early.users().getLast().leases());
        TestingLeases.end(registry, live, "seen");
    }

    @Test
    void aReservationIsNoLeaseAndKeepsTheGpuAllTheSame() throws Exception {
        at(0);
        Claim claim = reserve(ALICE, A);
        at(1);
        TestingLeases.end(
                registry, registry.liveOf(claim.id()).orElseThrow(), "docker was not run");
        assertEquals(List.of(use(ALICE, 1, 0, 0, 0, 1)), since(0).users());
    }

    @Test
    void aContainerThatIsStartedAgainIsOneWithManyLeases() throws Exception {
        Lease first = mounted(0, ALICE, A);
        at(1);
        TestingLeases.end(registry, first, "seen");
        at(2);
        TestingLeases.mount(registry, first.claim(), "use", DOCKERD);
        at(4);
        assertEquals(List.of(use(ALICE, 3, 2, 1, 1, 4)), since(0).users());
    }

    @Test
    void aLeaseOfNoTimeCountsAsOne() throws Exception {
        lease(1, 1, ALICE, A);
        at(2);
        assertEquals(List.of(use(ALICE, 0, 1, 1, 0, 1)), since(0).users());
    }

    @Test
    void aUserIsAUidByTheLatestName() throws Exception {
        lease(0, 1, new Owner(1001, "alice"), A);
        lease(1, 2, new Owner(1001, "alice-b"), A);
        lease(2, 3, new Owner(1002, "alice"), A);
        at(3);
        assertEquals(
                List.of(
                        use(new Owner(1001, "alice-b"), 2, 2, 2, 0, 2),
                        use(new Owner(1002, "alice"), 1, 1, 1, 0, 3)),
                since(0).users());
    }

    /** A guess may be wrong, and says nothing of others. */
    @Test
    void unknownUsersAreCountedByTheirGuessedNames() throws Exception {
        lease(0, 3, Owner.guessed("carol"), A);
        lease(3, 5, Owner.UNKNOWN, A);
        lease(5, 6, Owner.guessed("dave"), A);
        lease(6, 7, Owner.guessed("carol"), B);
        lease(7, 12, Owner.KUBERNETES, B);
        at(12);
        assertEquals(
                List.of(
                        use(Owner.KUBERNETES, 5, 1, 1, 0, 12),
                        use(Owner.guessed("carol"), 4, 2, 2, 0, 7),
                        use(Owner.UNKNOWN, 2, 1, 1, 0, 5),
                        use(Owner.guessed("dave"), 1, 1, 1, 0, 6)),
                since(0).users());
    }

    @Test
    void oneGpuCountsAlone() throws Exception {
        lease(0, 2, ALICE, A, B);
        lease(2, 5, BOB, B);
        at(5);
        assertEquals(List.of(use(ALICE, 2, 1, 1, 0, 2)), of(A, 0).users());
        assertEquals(List.of(use(BOB, 3, 1, 1, 0, 5), use(ALICE, 2, 1, 1, 0, 2)), of(B, 0).users());
        assertEquals(List.of(), of(C, 0).users());
        assertEquals(List.of(A.uuid(), B.uuid()), registry.history().pastGpus());
    }

    @Test
    void leasesOfOneGpuAreThoseThatEndedInTheWindow() throws Exception {
        lease(0, 2, ALICE, A, B);
        lease(2, 5, BOB, A);
        at(6);
        Instant from = START.plus(Duration.ofHours(2));
        assertEquals(
                List.of(BOB),
                registry
                        .history()
                        .pastOf(A.uuid(), from, Optional.empty(), Long.MAX_VALUE, 9)
                        .stream()
                        .map(lease -> lease.claim().owner())
                        .toList());
        assertEquals(
                2,
                registry.history()
                        .pastOf(A.uuid(), START, Optional.empty(), Long.MAX_VALUE, 9)
                        .size());
        assertEquals(
                1,
                registry.history()
                        .pastOf(A.uuid(), START, Optional.empty(), Long.MAX_VALUE, 1)
                        .size());
        assertEquals(
                List.of(ALICE),
                registry
                        .history()
                        .pastOf(A.uuid(), START, Optional.of(Set.of(ALICE)), Long.MAX_VALUE, 1)
                        .stream()
                        .map(lease -> lease.claim().owner())
                        .toList());
        assertEquals(
                List.of(),
                registry.history()
                        .pastOf(A.uuid(), START, Optional.of(Set.of()), Long.MAX_VALUE, 9));
    }

    /** Nobody knows the uid of any of them. */
    @Test
    void unknownUsersAreListedByTheirGuessedNames() throws Exception {
        lease(0, 1, Owner.KUBERNETES, A);
        lease(1, 2, Owner.guessed("carol"), A);
        lease(2, 3, Owner.UNKNOWN, A);
        at(4);
        assertEquals(List.of(Owner.KUBERNETES), owners(Owner.KUBERNETES));
        assertEquals(List.of(Owner.UNKNOWN), owners(Owner.UNKNOWN));
        assertEquals(List.of(Owner.guessed("carol")), owners(Owner.guessed("carol")));
        assertEquals(2, owners(Owner.KUBERNETES, Owner.UNKNOWN).size());
    }

    private List<Owner> owners(Owner... counts) throws IOException {
        return registry
                .history()
                .pastOf(A.uuid(), START, Optional.of(Set.of(counts)), Long.MAX_VALUE, 9)
                .stream()
                .map(lease -> lease.claim().owner())
                .toList();
    }

    /** Nothing becomes negative, and no more than the window counts. */
    @Test
    void aClockThatIsSetBackCountsNothingTwice() throws Exception {
        lease(8, 9, BOB, B);
        mounted(8, ALICE, A);
        at(2);
        assertEquals(
                List.of(Duration.ZERO, Duration.ZERO),
                since(0).users().stream().map(GpuTime.Use::time).toList());
        at(8);
        assertEquals(Duration.ZERO, since(0).total());
        at(10);
        assertEquals(Duration.ofHours(3), since(0).total());
    }

    @Test
    void readersDoNotWaitForWriters() throws Exception {
        lease(0, 1, ALICE, A);
        at(2);
        try (Connection other =
                        DriverManager.getConnection(
                                "jdbc:sqlite:" + directory.resolve("registry.db"));
                Statement statement = other.createStatement()) {
            statement.execute("BEGIN IMMEDIATE");
            Thread writer = Thread.ofPlatform().start(this::write);
            Thread reader =
                    Thread.ofVirtual().start(() -> assertEquals(1, usersUnchecked().size()));
            assertTrue(reader.join(Duration.ofSeconds(30)), "the reader waits");
            statement.execute("ROLLBACK");
            writer.join();
        }
    }

    /** Writes once the other connection has finished, or gives up. */
    private void write() {
        try {
            registry.claims().unnamed("0".repeat(12));
        } catch (IOException e) {
            // The machine was so busy that the wait timed out.
        }
    }

    private List<GpuTime.Use> usersUnchecked() {
        try {
            return since(0).users();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void oldLeasesAreDeletedAndHeldOnesAreKept() throws Exception {
        Lease held = mounted(0, BOB, C);
        Lease old = lease(1, 2, ALICE, A);
        registry.claims().forget(old.claim().id());
        Lease kept = lease(2, 4, ALICE, B);
        registry.claims().forget(kept.claim().id());
        at(12);
        assertEquals(2, HistoryKeeper.delete(registry, Duration.ofHours(9), Pace.REAL));
        assertEquals(0, HistoryKeeper.delete(registry, Duration.ofHours(9), Pace.REAL));
        assertEquals(
                List.of(kept.id()),
                registry.history().past(Long.MAX_VALUE, 9).stream().map(Lease::id).toList());
        assertEquals(List.of(held), registry.live());
        at(14);
        assertEquals(2, HistoryKeeper.delete(registry, Duration.ofHours(9), Pace.REAL));
        assertEquals(List.of(held), registry.live());
        assertEquals(1, count("claim") * count("claim_gpu") * count("lease_gpu"));
    }

    /** Its container may be started again after years. */
    @Test
    void aClaimThatIsNotForgottenOutlivesItsLeases() throws Exception {
        Lease old = lease(0, 1, ALICE, A, B);
        at(100);
        assertEquals(1, HistoryKeeper.delete(registry, Duration.ofHours(9), Pace.REAL));
        assertEquals(old.claim(), registry.claims().claim(old.claim().id()).orElseThrow());
        TestingLeases.mount(registry, old.claim(), "use", DOCKERD);
        Lease next = registry.liveOf(old.claim().id()).orElseThrow();
        assertTrue(next.id() > old.id(), "a lease's number is never used again");
    }

    @Test
    void aClaimOutOfTheHistoryCanBeRestored() throws Exception {
        Lease old = lease(0, 1, ALICE, A);
        registry.claims().forget(old.claim().id());
        at(100);
        assertEquals(2, HistoryKeeper.delete(registry, Duration.ofHours(9), Pace.REAL));
        assertTrue(registry.claims().restore(old.claim(), true));
        assertEquals(old.claim(), registry.claims().claim(old.claim().id()).orElseThrow());
    }

    @Test
    void historyIsDeletedInParts() throws Exception {
        fill(1_000);
        int deleted = 0;
        int part;
        do {
            part = registry.history().deleteUntil(now, 100);
            assertTrue(part <= 200, "leases and claims at once: " + part);
            deleted += part;
        } while (part > 0);
        assertEquals(2_000, deleted);
        assertEquals(0, count("lease") + count("claim") + count("lease_gpu") + count("claim_gpu"));
    }

    /** A year of a busy host. The times are printed for people to judge, on their own machine. */
    @Test
    void aHundredThousandLeasesAreAddedUpByTheDatabase() throws Exception {
        fill(100_000);
        long start = System.nanoTime();
        GpuTime all = since(0);
        long allTime = System.nanoTime() - start;
        assertEquals(10, all.users().size());
        assertEquals(Duration.ofMinutes(200_000), all.total());
        assertEquals(10_000, all.users().getFirst().leases());
        start = System.nanoTime();
        GpuTime day =
                registry.history()
                        .gpuTime(
                                now.minusMillis(1).minus(Duration.ofDays(1)),
                                Optional.empty(),
                                Optional.empty());
        long dayTime = System.nanoTime() - start;
        assertEquals(Duration.ofMinutes(2 * 1440), day.total());
        start = System.nanoTime();
        assertEquals(Duration.ofMinutes(100_000), of(A, 0).total());
        long gpuTime = System.nanoTime() - start;
        registry.history().deleteUntil(now, 100); // and writes what the filling has left over
        start = System.nanoTime();
        assertEquals(200, registry.history().deleteUntil(now, 100));
        System.out.printf(
                "of 100,000 leases: all %d ms, a day %d ms, one GPU %d ms, 100 deleted in %d ms%n",
                TimeUnit.NANOSECONDS.toMillis(allTime),
                TimeUnit.NANOSECONDS.toMillis(dayTime),
                TimeUnit.NANOSECONDS.toMillis(gpuTime),
                TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
    }

    /**
     * Adds that many leases of two GPUs and ten users, a minute each, one after the other until
     * now.
     */
    private void fill(int leases) throws Exception {
        try (var connection =
                        DriverManager.getConnection(
                                "jdbc:sqlite:" + directory.resolve("registry.db"));
                var statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            String numbers =
                    " FROM (WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
                            + " WHERE i + 1 < "
                            + leases
                            + ") SELECT i FROM n)";
            statement.executeUpdate(
                    "INSERT INTO claim (id, origin, engine, image, uid, owner, created, forgotten)"
                            + " SELECT printf('%012x', i), 'engine', 'e', 'cuda', i % 10,"
                            + " 'user' || i % 10, 0, "
                            + (START.toEpochMilli() + 59_999)
                            + " + i * 60000"
                            + numbers);
            statement.executeUpdate(
                    "INSERT INTO lease (id, claim, holder, boot, pid, start, since, until,"
                            + " evidence) SELECT i + 1, printf('%012x', i), 'held', 'boot', 1, 1, "
                            + START.toEpochMilli()
                            + " + i * 60000, "
                            + START.toEpochMilli()
                            + " + i * 60000 + 60000, 'its first process (pid 4711) is gone'"
                            + numbers);
            for (Gpu gpu : List.of(A, B)) {
                statement.executeUpdate(
                        "INSERT INTO claim_gpu (claim, gpu, position, minor) SELECT"
                                + " printf('%012x', i), '"
                                + gpu.uuid()
                                + "', "
                                + gpu.index()
                                + ", 0"
                                + numbers);
                statement.executeUpdate(
                        "INSERT INTO lease_gpu (lease, gpu, live) SELECT i + 1, '"
                                + gpu.uuid()
                                + "', 0"
                                + numbers);
            }
            connection.commit();
        }
        now = START.plus(Duration.ofMinutes(leases)).plusMillis(1);
    }

    private int count(String table) throws Exception {
        try (var connection =
                        DriverManager.getConnection(
                                "jdbc:sqlite:" + directory.resolve("registry.db"));
                var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT count(*) FROM " + table)) {
            return result.getInt(1);
        }
    }

    private void at(int hours) {
        now = START.plus(Duration.ofHours(hours));
    }

    private GpuTime since(int hours) throws IOException {
        return registry.history()
                .gpuTime(START.plus(Duration.ofHours(hours)), Optional.empty(), Optional.empty());
    }

    private GpuTime of(Gpu gpu, int hours) throws IOException {
        return registry.history()
                .gpuTime(
                        START.plus(Duration.ofHours(hours)),
                        Optional.empty(),
                        Optional.of(gpu.uuid()));
    }

    private static GpuTime.Use use(
            Owner owner, int hours, int leases, int containers, double held, int last) {
        return new GpuTime.Use(
                owner,
                Duration.ofHours(hours),
                Duration.ZERO,
                leases,
                containers,
                held,
                START.plus(Duration.ofHours(last)));
    }

    /** Adds idle time to hours of a lease, as the keeper of idle GPUs does. */
    private void idle(Lease lease, Gpu gpu, Map<Integer, Duration> hours) throws IOException {
        Map<IdleStore.Hour, Long> more = new HashMap<>();
        hours.forEach((hour, time) ->
                more.put(new IdleStore.Hour(lease.id(), gpu.uuid(), hour), time.toMillis()));
        registry.idle().write(List.of(), more);
    }

    private static Duration idleOf(GpuTime time, Owner owner) {
        return time.users().stream()
                .filter(use -> use.owner().equals(owner))
                .map(GpuTime.Use::idle)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void idleTimeIsThatOfTheWindow() throws Exception {
        Lease lease = mounted(0, ALICE, A, B);
        at(10);
        idle(lease, A, Map.of(0, Duration.ofHours(1), 1, Duration.ofMinutes(40)));
        idle(lease, A, Map.of(1, Duration.ofMinutes(10)));
        idle(lease, B, Map.of(9, Duration.ofMinutes(30)));
        assertEquals(Duration.ofMinutes(140), idleOf(since(0), ALICE));
        assertEquals(Duration.ofMinutes(80), idleOf(since(1), ALICE));
        assertEquals(Duration.ofMinutes(50), idleOf(of(A, 1), ALICE));
        assertEquals(Duration.ofMinutes(30), idleOf(since(2), ALICE));
        assertEquals(Duration.ofHours(20), since(0).users().getFirst().time());
    }

    /** The position of the time in an hour that is only partly in the window is unknown. */
    @Test
    void idleTimeIsNeverMoreThanTheTime() throws Exception {
        Lease lease = lease(0, 1, BOB, A);
        idle(lease, A, Map.of(0, Duration.ofMinutes(50)));
        Instant half = START.plus(Duration.ofMinutes(30));
        GpuTime time = registry.history().gpuTime(half, Optional.empty(), Optional.empty());
        assertEquals(Duration.ofMinutes(30), time.users().getFirst().time());
        assertEquals(Duration.ofMinutes(30), idleOf(time, BOB));
    }

    @Test
    void idleTimeGoesWithItsLease() throws Exception {
        Lease lease = lease(0, 1, BOB, A);
        idle(lease, A, Map.of(0, Duration.ofMinutes(50)));
        at(10);
        assertTrue(HistoryKeeper.delete(registry, Duration.ofHours(2), Pace.REAL) > 0);
        assertEquals(0, count("idle"));
        idle(lease, A, Map.of(0, Duration.ofMinutes(50)));
        assertEquals(0, count("idle"));
    }

    private Claim reserve(Owner owner, Gpu... gpus) throws IOException {
        Claim claim = claim("%012x".formatted(++claims), owner, gpus);
        TestingLeases.reserve(registry, claim, CLIENT);
        return claim;
    }

    /** A container has them from then on. */
    private Lease mounted(int from, Owner owner, Gpu... gpus) throws IOException {
        at(from);
        Claim claim = reserve(owner, gpus);
        TestingLeases.mount(registry, claim, "use", DOCKERD);
        return registry.liveOf(claim.id()).orElseThrow();
    }

    /** A container had them from one hour to another. */
    private Lease lease(int from, int until, Owner owner, Gpu... gpus) throws IOException {
        Lease lease = mounted(from, owner, gpus);
        at(until);
        assertTrue(TestingLeases.end(registry, lease, "seen"));
        return lease;
    }
}
