package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.held;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.host.Gpu;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** {@code --gpus share=10G}: parts of the memory of GPUs that may be shared. */
@Attack(
        by = "any user",
        what = "takes 600 shares of 1 MiB with a limit of one GPU",
        result =
                "a share has 256 MiB at least, and a user 16 of them for each GPU of the limit;"
                        + " so have a namespace's pods")
class ShareTest {
    private static final long MEMORY = 40L << 30;
    private static final List<Gpu> ALL = List.of(A, B, C);
    private static final LeasePolicy RULES = rules(1, "1", "2");
    private static final LeasePolicy NOTHING = rules(1);

    /** Rules by which a user may have so many GPUs, and these may be shared. */
    private static LeasePolicy rules(int gpus, String... shareable) {
        Limits limits =
                new Limits(
                        List.of(new Rule<>(Subject.EVERYBODY, gpus, "limits.*.gpus", "FILE")),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of());
        return new LeasePolicy(
                limits,
                8,
                List.of(),
                List.of(shareable),
                false,
                Optional.empty(),
                BookingRule.NONE);
    }

    private static GpuTraits traits(LeasePolicy rules) {
        Map<String, Long> memory = Map.of(A.uuid(), MEMORY, B.uuid(), MEMORY, C.uuid(), MEMORY);
        return new GpuTraits(Connections.UNKNOWN, memory).sharing(ALL, rules);
    }

    private static GpuChoice choice(LeasePolicy rules, List<Ticket> waiting, Lease... leases) {
        return TestingLeases.choice(
                ALL,
                traits(rules),
                TestingLeases.holdings(List.of(leases), Map.of()),
                UnmanagedUses.NONE,
                waiting,
                rules);
    }

    private static Lease share(long id, Owner owner, String name, String amount, Gpu gpu) {
        Share share = new Share(MemorySize.parse(amount).orElseThrow(), MEMORY);
        return TestingLeases.sharing(held(id, owner, name, gpu), share);
    }

    private static GpuRequest request(String option) throws RefusedException {
        return GpuRequest.parseOption(option);
    }

    private static List<Gpu> chosen(GpuChoice choice, String option, Owner owner)
            throws RefusedException {
        return assertInstanceOf(
                        Outcome.Chosen.class, choice.of(new Requested(request(option), owner)))
                .gpus();
    }

    private static String refusal(GpuChoice choice, String option, Owner owner)
            throws RefusedException {
        return switch (choice.of(new Requested(request(option), owner))) {
            case Outcome.Impossible why -> Refusals.of(why, Addressee.COMMAND).message();
            case Outcome.Busy busy -> Refusals.of(busy, Addressee.COMMAND).message();
            case Outcome.Chosen chosen -> throw new AssertionError(chosen);
        };
    }

    @Test
    void theFullestOnWhichItFitsComesFirst() throws RefusedException {
        LeasePolicy rules = rules(3, "1", "2");
        assertEquals(List.of(B), chosen(choice(rules, List.of()), "share=10G", ALICE));
        Lease little = share(1, ALICE, "a", "10G", B);
        Lease much = share(2, BOB, "b", "20G", C);
        assertEquals(List.of(C), chosen(choice(rules, List.of(), little, much), "share=20G", BOB));
        assertEquals(List.of(B), chosen(choice(rules, List.of(), little, much), "share=30G", BOB));
        Lease more = share(3, ALICE, "c", "3G", C);
        assertEquals(
                List.of(B), chosen(choice(rules, List.of(), little, much, more), "share=20G", BOB));
        assertEquals(
                List.of(B, C), chosen(choice(rules, List.of(), much), "count=2,share=10G", ALICE));
    }

    /** However well it fits: the other GPU of its switch is held, or they have a bridge. */
    @ParameterizedTest
    @CsvSource({"1, 0, 1, 4", "2 3, , 2, 6 7", "2 3 6 7, , 2, 0 1", "1 2 3 4 5 6 7, , 2, 0 1"})
    void aWholeRequestLeavesShareableGpusWhateverTheirConnections(
            String shareable, String held, int count, String chosen) throws RefusedException {
        List<Gpu> gpus = TestingConnections.gpus(8);
        LeasePolicy rules = rules(8, shareable.split(" "));
        Map<String, Long> memory = gpus.stream().collect(Collectors.toMap(Gpu::uuid, _ -> MEMORY));
        List<Lease> leases =
                held == null
                        ? List.of()
                        : List.of(held(1, BOB, "b", gpus.get(Integer.parseInt(held))));
        GpuChoice choice =
                TestingLeases.choice(
                        gpus,
                        new GpuTraits(TestingConnections.a40x8(), memory).sharing(gpus, rules),
                        TestingLeases.holdings(leases, Map.of()),
                        UnmanagedUses.NONE,
                        List.of(),
                        rules);
        List<Gpu> wanted =
                Stream.of(chosen.split(" ")).map(Integer::valueOf).map(gpus::get).toList();
        List<Gpu> free = new ArrayList<>(gpus);
        leases.forEach(lease -> free.removeIf(gpu -> lease.isOf(gpu.uuid())));
        assertEquals(wanted, chosen(choice, "" + count, ALICE));
        assertEquals(wanted, choice.preferred(free, List.of(), count));
    }

    @Test
    void aWholeRequestPrefersGpusThatAreNotShared() throws RefusedException {
        assertEquals(List.of(A), chosen(choice(RULES, List.of()), "1", ALICE));
        Lease share = share(1, BOB, "b", "1G", B);
        assertEquals(
                List.of(C),
                chosen(choice(RULES, List.of(), share, held(2, BOB, "x", A)), "1", ALICE));
        assertEquals(
                "GPU 1 (GPU-60000000) is held by bob's container b (share of 1G) since 2024-01-02"
                        + " 09:12; wait with --gpu-wait, or take another (free: 0,2)",
                refusal(choice(RULES, List.of(), share), "device=1", ALICE)
                        .replace(B.shortUuid(), "GPU-60000000"));
        Lease other = share(3, ALICE, "a", "1G", B);
        Lease third = share(4, ALICE, "c", "1G", B);
        assertEquals(
                "GPU 1 (GPU-60000000) is shared by bob's container b and 2 others; wait with"
                        + " --gpu-wait, or take another (free: 0,2)",
                refusal(
                                choice(rules(3, "1", "2"), List.of(), share, other, third),
                                "device=1",
                                ALICE)
                        .replace(B.shortUuid(), "GPU-60000000"));
    }

    @Test
    void theSumStaysWithinTheMemoryLessTheReserve() throws RefusedException {
        Lease share = share(1, BOB, "b", "39GiB", B);
        Lease whole = held(2, BOB, "train-7", C);
        GpuChoice choice = choice(RULES, List.of(), share, whole);
        assertEquals(List.of(B), chosen(choice, "share=512MiB", ALICE));
        assertEquals(
                "no shareable GPU has 513MiB left (GPU 1: 0.5G of 42.4G, GPU 2: held whole by bob's"
                        + " container train-7); wait with --gpu-wait, or request less",
                refusal(choice, "share=513MiB", ALICE));
        assertEquals(
                "1G of each of 2 GPUs requested, but no shareable GPU has that left (GPU 1: 0.5G of"
                        + " 42.4G, GPU 2: held whole by bob's container train-7); wait with"
                        + " --gpu-wait, or request less",
                refusal(
                        choice(rules(2, "1", "2"), List.of(), share, whole),
                        "count=2,share=1G",
                        ALICE));
    }

    @Test
    void whatCanNeverBeSharedIsRefused() throws RefusedException {
        assertEquals(
                "10G of 1 GPU requested, but none may be shared (shareable); request a"
                        + " whole GPU, or contact an administrator",
                refusal(choice(NOTHING, List.of()), "share=10G", ALICE));
        assertEquals(
                "43G of 1 GPU requested, but this host has fewer shareable GPUs with as much (GPU"
                        + " 1: 42.4G, GPU 2: 42.4G); request less, or others ('jnvdocker gpu ls'"
                        + " shows them)",
                refusal(choice(RULES, List.of()), "share=43G", ALICE));
        GpuTraits blind = GpuTraits.UNKNOWN.sharing(ALL, RULES);
        GpuChoice choice =
                TestingLeases.choice(
                        ALL,
                        blind,
                        TestingLeases.holdings(List.of(), Map.of()),
                        UnmanagedUses.NONE,
                        List.of(),
                        RULES);
        assertEquals(
                "10G of 1 GPU requested, but NVML does not report the memory of GPUs 1,2; try again"
                        + " in a minute ('jnvdocker gpu doctor' checks NVML)",
                refusal(choice, "share=10G", ALICE));
        assertTrue(!rules(1, "1").shares(TestingLeases.part(B, 0)));
    }

    @Test
    void noContainerJoinsAShare() throws RefusedException {
        Lease share = share(1, ALICE, "train", "10G", B);
        assertTrue(
                refusal(choice(RULES, List.of(), share), "with=train", ALICE)
                        .endsWith(
                                "and cannot be given to this one, too; request a share of its own,"
                                        + " as in --gpus share=10G"));
    }

    @Test
    void aShareCountsAsItsPart() throws RefusedException {
        Lease share = share(1, ALICE, "train", "10GiB", B);
        GpuChoice choice = choice(RULES, List.of(), share);
        assertEquals(List.of(B), chosen(choice, "share=29GiB", ALICE));
        assertEquals(List.of(B, C), chosen(choice, "count=2,share=15GiB", ALICE));
        assertTrue(
                refusal(choice, "count=2,share=16GiB", ALICE)
                        .startsWith(
                                "alice has 0.25 of the 1 GPU that each user may have"
                                        + " (limits.*.gpus): "));
        assertTrue(refusal(choice, "1", ALICE).startsWith("alice has 0.25 of"));
    }

    /** The memory of a GPU would allow hundreds, and so would the limit of one GPU. */
    @Test
    void numberOfAUsersSharesHasALimitToo() throws RefusedException {
        List<Lease> small = new ArrayList<>();
        for (int i = 0; i < Quota.SHARES_OF_A_GPU - 1; i++) {
            small.add(share(i + 1, ALICE, "a" + i, "256MiB", List.of(B, C).get(i % 2)));
        }
        Lease[] some = small.toArray(Lease[]::new);
        assertEquals(List.of(B), chosen(choice(RULES, List.of(), some), "share=256MiB", ALICE));
        small.add(share(99, ALICE, "last", "256MiB", B));
        Lease[] all = small.toArray(Lease[]::new);
        String refused = refusal(choice(RULES, List.of(), all), "share=256MiB", ALICE);
        assertTrue(
                refused.startsWith(
                        "alice has 16 of the 16 shares of 1 GPU that each user may have"
                                + " (limits.*.gpus): container a0 holds 256MiB of GPU 1"),
                refused);
        assertTrue(refused.endsWith("; wait with --gpu-wait, or stop one"), refused);
        assertEquals(List.of(B), chosen(choice(RULES, List.of(), all), "share=256MiB", BOB));
        LeasePolicy two = rules(2, "1", "2");
        assertEquals(List.of(B), chosen(choice(two, List.of(), all), "share=256MiB", ALICE));
        assertEquals(List.of(A), chosen(choice(two, List.of(), all), "1", ALICE));
    }

    @Test
    void clientThatHasItsSharesKeepsNobodyWaiting() throws RefusedException {
        List<Lease> small = new ArrayList<>();
        for (int i = 0; i < Quota.SHARES_OF_A_GPU; i++) {
            small.add(share(i + 1, ALICE, "a" + i, "256MiB", B));
        }
        Lease[] all = small.toArray(Lease[]::new);
        Ticket alices = TestingLeases.ticket(1, ALICE, request("share=36GiB"));
        GpuChoice choice = choice(rules(1, "1"), List.of(alices), all);
        assertTrue(choice.verdict(B).keptFor().isEmpty());
        assertTrue(choice.scope(alices.requested()).excess().isPresent());
        Ticket bobs = TestingLeases.ticket(1, BOB, request("share=36GiB"));
        assertTrue(choice(rules(1, "1"), List.of(bobs), all).verdict(B).keptFor().isPresent());
    }

    /** Else a client that waits for the whole could wait for ever. */
    @ParameterizedTest
    @ValueSource(strings = {"device=1", "3", "all"})
    void theRestIsKeptForAClientThatWaitsForTheWhole(String wanted) throws RefusedException {
        LeasePolicy rules = rules(3, "1");
        Lease share = share(1, ALICE, "train", "10G", B);
        assertEquals(List.of(B), chosen(choice(rules, List.of(), share), "share=10G", ALICE));
        List<Ticket> waiting = new ArrayList<>();
        waiting.add(TestingLeases.ticket(1, BOB, request(wanted)));
        assertTrue(
                refusal(choice(rules, waiting, share), "share=10G", ALICE)
                        .startsWith(
                                "no shareable GPU has 10G left (GPU 1: 32.4G of 42.4G, kept for"
                                        + " bob"));
    }

    @Test
    void theUsersOwnShareIsInTheWayOfTheWhole() throws RefusedException {
        Lease own = share(1, BOB, "train", "10G", B);
        List<Ticket> waiting = List.of(TestingLeases.ticket(1, BOB, request("device=1")));
        assertEquals(List.of(B), chosen(choice(rules(3, "1"), waiting, own), "share=10G", ALICE));
        List<Ticket> forShares = List.of(TestingLeases.ticket(1, BOB, request("share=35G")));
        assertEquals(List.of(B), chosen(choice(rules(3, "1"), forShares, own), "share=10G", ALICE));
        Lease alices = share(2, ALICE, "other", "20G", B);
        List<Ticket> later = List.of(TestingLeases.ticket(1, BOB, request("share=25G")));
        assertTrue(
                refusal(choice(rules(3, "1"), later, own, alices), "share=1G", ALICE)
                        .contains("kept for bob"));
    }

    @Test
    void aClaimHasRoomBesideTheSharesOfOthers() {
        Claim claim = share(1, ALICE, "train", "20G", B).claim();
        Lease other = share(2, BOB, "b", "20G", B);
        assertEquals(List.of(), holdings(other).on(claim));
        Lease third = share(3, BOB, "c", "3G", B);
        assertEquals(List.of(other, third), holdings(other, third).on(claim));
        Lease whole = held(4, BOB, "d", B);
        assertEquals(List.of(whole), holdings(whole).on(claim));
        assertEquals(List.of(other), holdings(other).on(whole.claim()));
    }

    private static Holdings holdings(Lease... leases) {
        return TestingLeases.holdings(List.of(leases), Map.of());
    }

    @Test
    void aShareIsOneWord() {
        Share share = new Share(new MemorySize(10, "GiB"), MEMORY);
        assertEquals("10GiB/42949672960", share.toString());
        assertEquals(Optional.of(share), Share.parse(share.toString()));
        for (String other :
                List.of(
                        "10G",
                        "10G/1",
                        "255MiB/42949672960",
                        "10G/",
                        "0G/42949672960",
                        "-",
                        "10/10")) {
            assertEquals(Optional.empty(), Share.parse(other), other);
        }
    }
}
