package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.D;
import static jnvdocker.lease.TestingLeases.POLICY;
import static jnvdocker.lease.TestingLeases.gpu;
import static jnvdocker.lease.TestingLeases.held;
import static jnvdocker.lease.TestingLeases.part;
import static jnvdocker.lease.TestingLeases.reserved;
import static jnvdocker.lease.TestingLeases.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import jnvdocker.host.Gpu;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.Refusals;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;

import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import java.util.stream.Stream;

class GpuChoiceTest {
    private static final List<Gpu> ALL = List.of(A, B, C, D);
    private static final Map<Gpu, Instant> NEVER_USED = Map.of();
    private static final GpuRequest ONE = new GpuRequest.Count(1);
    private static final GpuRequest TWO = new GpuRequest.Count(2);
    private static final GpuRequest EVERY = new GpuRequest.All();

    private static final Gpu SICK =
            new Gpu(0, "?", -1, "0000:00:00.0", "?").with(new Refusal("it is lost", "check it"));
    private static final Gpu NAMELESS = gpu(0, "GPU-????????-????-????-????-????????????", 0);

    @Test
    void theOneIdleLongestComesFirst() throws RefusedException {
        var idle = Map.of(A, time(9, 0), B, time(8, 0), C, time(10, 0), D, time(11, 0));
        assertEquals(List.of(B), chosen(ONE, ALL, List.of(), idle));
    }

    @Test
    void theOneThatWasNeverUsedIsIdleLongest() throws RefusedException {
        var idle = Map.of(A, time(9, 0), B, time(8, 0), D, Instant.EPOCH);
        assertEquals(List.of(C), chosen(ONE, ALL, List.of(), idle));
    }

    @Test
    void lowestIndexAmongThoseEquallyIdle() throws RefusedException {
        assertEquals(List.of(A), chosen(ONE, ALL, List.of(), NEVER_USED));
        var idle = Map.of(A, time(9, 0), B, time(8, 0), C, time(8, 0), D, time(8, 0));
        assertEquals(List.of(B, C), chosen(TWO, ALL, List.of(), idle));
    }

    @Test
    void chosenGpusAreInOrderOfIndex() throws RefusedException {
        var idle = Map.of(A, time(9, 0), B, time(11, 0), C, time(10, 0), D, time(8, 0));
        assertEquals(List.of(A, D), chosen(TWO, ALL, List.of(), idle));
    }

    @Test
    void sameQuestionHasTheSameAnswer() throws RefusedException {
        List<Gpu> many = IntStream.range(0, 64).mapToObj(GpuChoiceTest::numbered).toList();
        var first = chosen(new GpuRequest.Count(17), many, List.of(), NEVER_USED);
        assertEquals(many.subList(0, 17), first);
        assertEquals(first, chosen(new GpuRequest.Count(17), many, List.of(), NEVER_USED));
    }

    @Test
    void countTakesOnlyFreeGpus() throws RefusedException {
        List<Lease> leases = List.of(held(1, ALICE, "train-7", A), reserved(2, BOB, C));
        assertEquals(List.of(B, D), chosen(TWO, ALL, leases, NEVER_USED));
    }

    @Test
    void countTakesThoseWithAUuidFirst() throws RefusedException {
        assertEquals(List.of(B), chosen(ONE, List.of(NAMELESS, B), List.of(), NEVER_USED));
    }

    @Test
    void noneIsNoGpu() throws RefusedException {
        Lease lease = held(1, ALICE, "train-7", A, B, C, D);
        assertEquals(List.of(), chosen(new GpuRequest.None(), ALL, List.of(lease), NEVER_USED));
    }

    @Test
    void allIsEveryGpuOrNone() throws RefusedException {
        assertEquals(ALL, chosen(EVERY, ALL, List.of(), NEVER_USED));
        assertBusy(
                "all GPUs requested, but GPU 1 (GPU-5c1a2006) is held by alice's container"
                        + " train-7 since 2024-01-02 09:12; wait with --gpu-wait, or take"
                        + " others (free: 0,2,3)",
                EVERY,
                held(1, ALICE, "train-7", B));
        assertBusy(
                "all GPUs requested, but GPUs 0-3 are held by alice's container big"
                        + " since 2024-01-02 09:12; wait with --gpu-wait",
                EVERY,
                held(1, ALICE, "big", A, B, C, D));
    }

    @Test
    void namedGpusAreTakenThoughOthersAreIdleLonger() throws RefusedException {
        var idle = Map.of(D, time(11, 0), B, time(11, 30));
        assertEquals(List.of(B, D), chosen(devices("3", "GPU-5c1a2006"), ALL, List.of(), idle));
    }

    @Test
    void namedAreAllOrNothing() throws RefusedException {
        assertBusy(
                "GPU 1 (GPU-5c1a2006) is held by alice's container train-7 since 2024-01-02"
                        + " 09:12; wait with --gpu-wait, or take another (free: 0,2,3)",
                devices("0", "1"),
                held(1, ALICE, "train-7", B));
        assertBusy(
                "GPU 0 (GPU-5c1a1003) is held by alice's container train-7 since 2024-01-02 09:12,"
                    + " GPU 1 is reserved by bob's docker run (pid 4711); wait with --gpu-wait, or"
                    + " take others (free: 2,3)",
                devices("0", "1"),
                held(1, ALICE, "train-7", A),
                reserved(2, BOB, B));
        assertBusy(
                "GPU 3 (GPU-88888888) is held by alice's container big since 2024-01-02 09:12;"
                        + " wait with --gpu-wait",
                devices("3"),
                held(1, ALICE, "big", A, B, C, D));
    }

    @Test
    void aCountThatIsNotFreeNamesEveryHolder() throws RefusedException {
        assertBusy(
                "2 GPUs requested, but only GPU 2 is free: GPUs 0,1 are held by alice's container"
                        + " train-7 since 2024-01-02 09:12, GPU 3 is reserved by bob's"
                        + " docker run (pid 4711); wait with --gpu-wait, or"
                        + " request fewer",
                TWO,
                held(1, ALICE, "train-7", A, B),
                reserved(2, BOB, D));
        GpuChoice choice =
                TestingLeases.choice(
                        List.of(A),
                        GpuTraits.UNKNOWN,
                        holdings(held(1, ALICE, "train-7", A)),
                        UnmanagedUses.NONE,
                        List.of(),
                        POLICY);
        assertEquals(
                "1 GPU requested, but none is free: GPU 0 (GPU-5c1a1003) is held by alice's"
                        + " container train-7 since 2024-01-02 09:12; wait with --gpu-wait",
                Refusals.of(
                                assertInstanceOf(
                                        Outcome.Busy.class, choice.of(new Requested(ONE, ALICE))),
                                Addressee.COMMAND)
                        .message());
    }

    @Test
    void aGpuThatIsUsedWithoutALeaseIsNeverPicked() throws RefusedException {
        UnmanagedUses used = unmanaged(false, process(A), container(C));
        GpuChoice choice =
                TestingLeases.choice(ALL, GpuTraits.UNKNOWN, holdings(), used, List.of(), POLICY);
        assertEquals(new Outcome.Chosen(List.of(B, D)), choice.of(new Requested(TWO, ALICE)));
        assertBusy(
                "3 GPUs requested, but only GPUs 1,3 are free: GPU 0 (GPU-5c1a1003) is used by"
                        + " root's process python3 (pid 4711), which jnvdocker did not start, GPU 2"
                        + " is used by container plain-1; wait with --gpu-wait, or request fewer",
                new GpuRequest.Count(3),
                used);
        assertBusy(
                "all GPUs requested, but GPUs 0,1 are used by container plain-1, which"
                        + " jnvdocker did not start; wait with --gpu-wait, or take others"
                        + " (free: 2,3)",
                EVERY,
                unmanaged(true, container(A), container(B)));
    }

    @Test
    void aGpuThatIsUsedWithoutALeaseIsRefusedWhenItIsNamed() throws RefusedException {
        assertBusy(
                "GPU 0 (GPU-5c1a1003) is used by root's process python3 (pid 4711), which"
                        + " jnvdocker did not start; wait with --gpu-wait, or take another"
                        + " (free: 1-3)",
                devices("0", "1"),
                unmanaged(false, process(A)));
        assertBusy(
                "GPU 1 (GPU-5c1a2006) is held by alice's container train-7 since 2024-01-02 09:12,"
                    + " GPU 0 is used by root's process python3 (pid 4711); wait with --gpu-wait,"
                    + " or take others (free: 2,3)",
                devices("0", "1"),
                unmanaged(false, process(A)),
                held(1, ALICE, "train-7", B));
    }

    @Test
    void aGpuThatIsUsedWithoutALeaseMayBeNamedWhereThatIsAllowed() throws RefusedException {
        UnmanagedUses used = unmanaged(true, process(A), process(B), container(C), container(D));
        GpuChoice choice =
                TestingLeases.choice(ALL, GpuTraits.UNKNOWN, holdings(), used, List.of(), POLICY);
        assertEquals(
                new Outcome.Chosen(List.of(A, C)),
                choice.of(new Requested(devices("0", "2"), ALICE)));
        assertInstanceOf(Outcome.Busy.class, choice.of(new Requested(ONE, ALICE)));
    }

    @Test
    void holderIsNamedBeforeAnUnmanagedUse() throws RefusedException {
        assertBusy(
                "GPU 0 (GPU-5c1a1003) is held by alice's container train-7 since 2024-01-02 09:12;"
                        + " wait with --gpu-wait, or take another (free: 1-3)",
                devices("0"),
                unmanaged(true, process(A)),
                held(1, ALICE, "train-7", A));
    }

    @Test
    void aCordonedGpuGetsNoNewHolder() throws RefusedException {
        LeasePolicy policy = policy(0, "1");
        assertEquals(
                new Outcome.Chosen(List.of(A, C, D)),
                choice(policy, A, B, C, D).of(new Requested(EVERY, BOB)));
        assertEquals(
                new Outcome.Chosen(List.of(C)), choice(policy, B, C).of(new Requested(ONE, BOB)));
        assertEquals(
                "GPU 1 (GPU-5c1a2006) is cordoned in the configuration; take"
                        + " another (free: 0,2,3), or contact an administrator",
                refusal(choice(policy, A, B, C, D), devices("0", "1"), BOB));
        assertEquals(
                "4 GPUs requested, but only 3 GPUs are in service: GPU 1 is cordoned in the"
                        + " configuration; request fewer ('jnvdocker gpu ls' shows"
                        + " them)",
                refusal(choice(policy, A, B, C, D), new GpuRequest.Count(4), BOB));
        assertEquals(
                "GPU 1 (GPU-5c1a2006) is cordoned in the configuration; contact"
                        + " an administrator",
                refusal(choice(policy, B), EVERY, BOB));
    }

    @Test
    void aGpuThatWasCordonedByCommandIsNamedWithWhoDidItAndWhy() {
        var holdings =
                TestingLeases.cordoned(B, new Cordon.ByCommand(ALICE, time(9, 12), "fan is loud"));
        GpuChoice choice =
                TestingLeases.choice(
                        ALL, GpuTraits.UNKNOWN, holdings, UnmanagedUses.NONE, List.of(), POLICY);
        assertEquals(
                "GPU 1 (GPU-5c1a2006) is cordoned by alice since 2024-01-02 09:12 (fan is loud);"
                        + " take another (free: 0,2,3), or contact an administrator",
                refusal(choice, devices("1"), BOB));
    }

    @Test
    void heldGpusCountTowardsTheQuota() throws RefusedException {
        Lease train = held(1, ALICE, "train-7", A);
        GpuChoice choice = choice(policy(2), List.of(train), List.of());
        assertEquals(new Outcome.Chosen(List.of(B)), choice.of(new Requested(ONE, ALICE)));
        assertEquals(new Outcome.Chosen(List.of(B, C)), choice.of(new Requested(TWO, BOB)));
        Outcome.Busy busy =
                assertInstanceOf(
                        Outcome.Busy.class,
                        choice.of(new Requested(devices("1", "GPU-7777"), ALICE)));
        assertEquals(
                "alice has 1 of the 2 GPUs that each user may have (limits.*.gpus): container"
                        + " train-7 holds GPU 0; wait with --gpu-wait, stop one, or request fewer",
                Refusals.of(busy, Addressee.COMMAND).message());
        assertEquals(List.of(train), busy.leases());
    }

    @Test
    void moreThanAnybodyMayHaveIsRefusedAtOnce() {
        assertEquals(
                "4 GPUs requested, but each user may have 2 at a time (limits.*.gpus); request"
                        + " fewer",
                refusal(choice(policy(2), A, B, C, D), EVERY, BOB));
    }

    @Test
    void userAtTheQuotaKeepsNobodyWaiting() throws RefusedException {
        Lease train = held(1, ALICE, "train-7", A, B);
        Ticket first = TestingLeases.ticket(1, ALICE, ONE);
        Ticket second = TestingLeases.ticket(2, BOB, devices("2"));
        GpuChoice choice = choice(policy(2), List.of(train), List.of(first, second));
        assertEquals(Optional.empty(), choice.verdict(D).keptFor());
        assertEquals(Optional.of(second), choice.verdict(C).keptFor());
        assertEquals(new Outcome.Chosen(List.of(D)), choice.of(new Requested(ONE, BOB)));
        GpuChoice without = choice(POLICY, List.of(train), List.of(first, second));
        assertEquals(Optional.of(first), without.verdict(C).keptFor());
        assertEquals(new Outcome.Chosen(List.of(D)), without.of(new Requested(ONE, BOB)));
    }

    /** Only the user herself can end the lease that she waits for. */
    @Test
    void nothingFreeIsKeptForAUserWhoNeedsHerOwnGpus() throws RefusedException {
        Lease train = held(1, ALICE, "train-7", A);
        for (GpuRequest request : List.of(EVERY, new GpuRequest.Count(4), devices("0", "3"))) {
            Ticket waits = TestingLeases.ticket(1, ALICE, request);
            GpuChoice choice = choice(POLICY, List.of(train), List.of(waits));
            assertEquals(Optional.empty(), choice.verdict(D).keptFor(), request::toString);
            assertEquals(new Outcome.Chosen(List.of(B, C)), choice.of(new Requested(TWO, BOB)));
        }
    }

    /** The request when another user has the GPU: that lease ends without hers. */
    @Test
    void freeGpusAreKeptForTheFirstWhoWaitsForOthers() throws RefusedException {
        Lease train = held(1, BOB, "train-7", A);
        for (GpuRequest request : List.of(EVERY, new GpuRequest.Count(4), devices("0", "3"))) {
            Ticket waits = TestingLeases.ticket(1, ALICE, request);
            GpuChoice choice = choice(POLICY, List.of(train), List.of(waits));
            assertEquals(Optional.of(waits), choice.verdict(D).keptFor(), request::toString);
        }
    }

    @Test
    void nothingFreeIsKeptForARequestThatNeedsUnmanagedCordonedOrMissingGpus()
            throws RefusedException {
        UnmanagedUses used = unmanaged(false, process(A));
        for (GpuRequest request : List.of(EVERY, new GpuRequest.Count(4), devices("0", "3"))) {
            Ticket waits = TestingLeases.ticket(1, ALICE, request);
            GpuChoice choice =
                    TestingLeases.choice(
                            ALL, GpuTraits.UNKNOWN, holdings(), used, List.of(waits), POLICY);
            assertEquals(
                    new Outcome.Chosen(List.of(B)),
                    choice.of(new Requested(ONE, BOB)),
                    request::toString);
        }
        for (GpuRequest request : List.of(new GpuRequest.Count(4), devices("0", "3"))) {
            Ticket waits = TestingLeases.ticket(1, ALICE, request);
            GpuChoice choice = choice(policy(0, "0"), List.of(), List.of(waits));
            assertEquals(
                    new Outcome.Chosen(List.of(B)),
                    choice.of(new Requested(ONE, BOB)),
                    request::toString);
            var without =
                    TestingLeases.choice(
                            List.of(B, C, D),
                            GpuTraits.UNKNOWN,
                            holdings(),
                            UnmanagedUses.NONE,
                            List.of(waits),
                            POLICY);
            assertEquals(new Outcome.Chosen(List.of(B)), without.of(new Requested(ONE, BOB)));
        }
    }

    @Test
    void countTakesWholeGpusBeforeInstancesHoweverLongTheseAreIdle() throws RefusedException {
        List<Gpu> some = List.of(part(A, 0), part(A, 1), B);
        assertEquals(List.of(B), chosen(ONE, some, List.of(), Map.of(B, time(11, 0))));
        assertEquals(List.of(part(A, 0), B), chosen(TWO, some, List.of(), Map.of(B, time(11, 0))));
        assertEquals(some, chosen(EVERY, some, List.of(), NEVER_USED));
    }

    @Test
    void instancesOfAGpuAreHeldSingly() throws RefusedException {
        List<Gpu> some = List.of(part(A, 0), part(A, 1));
        List<Lease> leases = List.of(held(1, ALICE, "train-7", part(A, 0)));
        assertEquals(List.of(part(A, 1)), chosen(ONE, some, leases, NEVER_USED));
        assertEquals(List.of(part(A, 1)), chosen(devices("0:1"), some, leases, NEVER_USED));
        assertEquals(
                "GPU 0:0 (MIG-00000000) is held by alice's container train-7 since 2024-01-02"
                        + " 09:12; wait with --gpu-wait, or take another (free: 0:1)",
                busy(some, devices("0:0"), leases));
    }

    /** The mode of a GPU may be another than when it was leased. */
    @Test
    void gpuAndItsInstancesExcludeEachOther() throws RefusedException {
        assertEquals(
                "GPU 0 (GPU-5c1a1003) is held by alice's container train-7 since 2024-01-02 09:12;"
                        + " wait with --gpu-wait, or take another (free: 1)",
                busy(List.of(A, B), devices("0"), List.of(held(1, ALICE, "train-7", part(A, 1)))));
        assertEquals(
                "GPU 0:1 (MIG-01000000) is held by alice's container train-7 since 2024-01-02"
                        + " 09:12; wait with --gpu-wait, or take another (free: 1)",
                busy(
                        List.of(part(A, 0), part(A, 1), B),
                        devices("0:1"),
                        List.of(held(1, ALICE, "train-7", A))));
    }

    private static String busy(List<Gpu> gpus, GpuRequest request, List<Lease> leases)
            throws RefusedException {
        var holdings = TestingLeases.holdings(leases, NEVER_USED);
        var choice =
                TestingLeases.choice(
                        gpus, GpuTraits.UNKNOWN, holdings, UnmanagedUses.NONE, List.of(), POLICY);
        return Refusals.of(
                        assertInstanceOf(
                                Outcome.Busy.class, choice.of(new Requested(request, BOB))),
                        Addressee.COMMAND)
                .message();
    }

    @Test
    void cordonOfAGpuIsOneOfItsInstances() {
        for (String id : List.of("0", A.uuid(), A.pciAddress())) {
            assertEquals(
                    "GPU 0:1 (MIG-01000000) is cordoned in the configuration;"
                            + " take another (free: 1), or contact an administrator",
                    refusal(choice(policy(0, id), part(A, 0), part(A, 1), B), devices("0:1"), BOB));
        }
    }

    /**
     * @param max GPUs a user may have; 0 for any number
     */
    private static LeasePolicy policy(int max, String... cordon) {
        return TestingLeases.policy(
                max == 0 ? OptionalInt.empty() : OptionalInt.of(max),
                Optional.empty(),
                List.of(cordon),
                false);
    }

    private static GpuChoice choice(LeasePolicy policy, Gpu... gpus) {
        return TestingLeases.choice(
                List.of(gpus),
                GpuTraits.UNKNOWN,
                holdings(),
                UnmanagedUses.NONE,
                List.of(),
                policy);
    }

    private static GpuChoice choice(LeasePolicy policy, List<Lease> leases, List<Ticket> waiting) {
        var holdings = TestingLeases.holdings(leases, NEVER_USED);
        return TestingLeases.choice(
                ALL, GpuTraits.UNKNOWN, holdings, UnmanagedUses.NONE, waiting, policy);
    }

    private static String refusal(GpuChoice choice, GpuRequest request, Owner owner) {
        try {
            Outcome outcome = choice.of(new Requested(request, owner));
            return Refusals.of(
                            assertInstanceOf(Outcome.Impossible.class, outcome), Addressee.COMMAND)
                    .message();
        } catch (RefusedException e) {
            return e.getMessage();
        }
    }

    private static UnmanagedUses unmanaged(boolean allowed, GpuUse... uses) {
        Map<String, List<GpuUse>> users = new HashMap<>();
        Stream.of(uses).forEach(use -> users.put(use.gpu().uuid(), List.of(use)));
        return new UnmanagedUses(users, allowed);
    }

    private static GpuUse process(Gpu gpu) {
        GpuUse.User process =
                new GpuUse.User(new ProcessId(4711, 1), "python3", 0, Optional.empty());
        return new GpuUse(gpu, GpuUse.Kind.OPEN, Optional.empty(), Optional.of(process));
    }

    private static GpuUse container(Gpu gpu) {
        return new GpuUse(
                gpu,
                GpuUse.Kind.REQUEST,
                Optional.of(TestingLeases.running("plain-1", Map.of(), List.of())),
                Optional.empty());
    }

    @Test
    void manyHoldersAreCounted() throws RefusedException {
        List<Gpu> many = IntStream.range(0, 6).mapToObj(GpuChoiceTest::numbered).toList();
        Lease[] leases =
                many.stream()
                        .map(gpu -> held(gpu.index(), ALICE, "c" + gpu.index(), gpu))
                        .toArray(Lease[]::new);
        Outcome outcome =
                TestingLeases.choice(
                                many,
                                GpuTraits.UNKNOWN,
                                holdings(leases),
                                UnmanagedUses.NONE,
                                List.of(),
                                POLICY)
                        .of(new Requested(ONE, ALICE));
        assertEquals(
                "1 GPU requested, but none is free: GPU 0 (GPU-00000000) is held by alice's"
                    + " container c0 since 2024-01-02 09:12, GPU 1 is held by alice's container c1,"
                    + " GPU 2 is held by alice's container c2, GPU 3 is held by alice's container"
                    + " c3, and others by 2 more; wait with --gpu-wait",
                Refusals.of(assertInstanceOf(Outcome.Busy.class, outcome), Addressee.COMMAND)
                        .message());
    }

    @Test
    void aHolderWithoutANameIsKnownByItsImage() {
        Claim claim = TestingLeases.claim("0123456789ab", BOB, A);
        Lease lease =
                new Lease(
                        1,
                        claim,
                        held(1, BOB, "", A).holder(),
                        "boot",
                        TestingLeases.THEN,
                        Optional.empty(),
                        1,
                        Optional.empty());
        assertEquals(
                "is held by bob's container of image cuda since 2024-01-02 09:12",
                LeaseText.held(lease));
    }

    @Test
    void requestThatThisHostCanNeverServeIsRefused() {
        assertRefused(
                "5 GPUs requested, but this host has 4; request fewer ('jnvdocker gpu ls' shows"
                        + " them)",
                new GpuRequest.Count(5),
                ALL);
        assertRefused(
                "invalid device: 4; this host has 0-3 ('jnvdocker gpu ls' shows their" + " UUIDs)",
                devices("0", "4"),
                ALL);
        String none =
                "the driver shows no GPU on this host; check the kernel log (dmesg | grep -i"
                        + " nvrm)";
        assertRefused(none, EVERY, List.of());
        assertRefused(none, ONE, List.of());
    }

    @Test
    void aSickGpuIsLeftOutAndNotGivenOut() throws Exception {
        List<Gpu> gpus = List.of(SICK, B);
        assertEquals(List.of(B), chosen(EVERY, gpus, List.of(), NEVER_USED));
        assertEquals(List.of(B), chosen(ONE, gpus, List.of(), NEVER_USED));
        assertRefused(
                "2 GPUs requested, but only 1 GPU is in service: GPU 0 is sick; request fewer"
                        + " ('jnvdocker gpu ls' shows them)",
                TWO,
                gpus);
        String refusal = "GPU 0 at 0000:00:00.0 cannot be given out: it is lost; check it";
        assertRefused(refusal, devices("0", "1"), gpus);
        assertRefused(refusal, ONE, List.of(SICK));
        assertRefused(refusal, EVERY, List.of(SICK));
    }

    @Test
    void aGpuWithoutAUuidCannotBeHeld() {
        String refusal =
                "GPU 0 at 0000:00:00.0 has no UUID yet, so it cannot be leased; run nvidia-smi"
                        + " once as root, or start nvidia-persistenced at boot";
        assertRefused(refusal, EVERY, List.of(NAMELESS, B));
        assertRefused(refusal, TWO, List.of(NAMELESS, B));
        assertRefused(refusal, devices("0"), List.of(NAMELESS, B));
    }

    private static Gpu numbered(int index) {
        return gpu(index, "GPU-%08d-1d2c-4e5f-8a9b-012345678901".formatted(index), index);
    }

    private static GpuRequest devices(String... ids) {
        return new GpuRequest.Devices(List.of(ids));
    }

    private static Holdings holdings(Lease... leases) {
        return TestingLeases.holdings(List.of(leases), NEVER_USED);
    }

    private static List<Gpu> chosen(
            GpuRequest request, List<Gpu> gpus, List<Lease> leases, Map<Gpu, Instant> idle)
            throws RefusedException {
        GpuChoice choice =
                TestingLeases.choice(
                        gpus,
                        GpuTraits.UNKNOWN,
                        TestingLeases.holdings(leases, idle),
                        UnmanagedUses.NONE,
                        List.of(),
                        POLICY);
        return assertInstanceOf(Outcome.Chosen.class, choice.of(new Requested(request, ALICE)))
                .gpus();
    }

    private static void assertBusy(String refusal, GpuRequest request, Lease... leases)
            throws RefusedException {
        assertBusy(refusal, request, UnmanagedUses.NONE, leases);
    }

    private static void assertBusy(
            String refusal, GpuRequest request, UnmanagedUses unmanaged, Lease... leases)
            throws RefusedException {
        Outcome outcome =
                TestingLeases.choice(
                                ALL,
                                GpuTraits.UNKNOWN,
                                holdings(leases),
                                unmanaged,
                                List.of(),
                                POLICY)
                        .of(new Requested(request, ALICE));
        Outcome.Busy busy = assertInstanceOf(Outcome.Busy.class, outcome);
        assertEquals(refusal, Refusals.of(busy, Addressee.COMMAND).message());
        assertEquals(List.of(leases), busy.leases());
    }

    private static void assertRefused(String refusal, GpuRequest request, List<Gpu> gpus) {
        GpuChoice choice =
                TestingLeases.choice(
                        gpus, GpuTraits.UNKNOWN, holdings(), UnmanagedUses.NONE, List.of(), POLICY);
        assertEquals(refusal, refusal(choice, request, ALICE));
    }
}
