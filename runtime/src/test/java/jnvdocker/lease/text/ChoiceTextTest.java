package jnvdocker.lease.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Scope;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.stream.IntStream;

class ChoiceTextTest {
    private static final GpuRequest ALL = new GpuRequest.All();

    private static List<Gpu> gpus(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> TestingLeases.gpu(i, "GPU-%08d-1d2c-4e5f".formatted(i), i))
                .toList();
    }

    private static LeasePolicy policy(OptionalInt max) {
        return TestingLeases.policy(max, Optional.empty(), List.of(), false);
    }

    private static GpuUse use(Gpu gpu, int container) {
        var user = TestingLeases.running("plain-" + container, Map.of(), List.of());
        return new GpuUse(gpu, GpuUse.Kind.REQUEST, Optional.of(user), Optional.empty());
    }

    private static boolean isNamed(GpuChoice choice, Ticket ticket) throws Exception {
        Outcome.Busy busy = assertInstanceOf(Outcome.Busy.class, choice.of(ticket.requested()));
        return LastingText.besides(busy, choice.scope(ticket.requested())).isEmpty();
    }

    @Test
    void quotaAndUnmanagedUsesAreNamedOnceAndTheUsersOwnGpusTwice() throws Exception {
        List<Gpu> two = gpus(2);
        Ticket his = TestingLeases.ticket(1, TestingLeases.ALICE, ALL);
        List<Lease> own =
                List.of(TestingLeases.held(1, TestingLeases.ALICE, "train", two.getFirst()));
        var held = TestingLeases.holdings(own, Map.of());
        var none = TestingLeases.holdings(List.of(), Map.of());
        LeasePolicy free = policy(OptionalInt.empty());
        var most = policy(OptionalInt.of(2));
        var used = new UnmanagedUses(Map.of(two.get(1).uuid(), List.of(use(two.get(1), 1))), false);
        assertTrue(
                isNamed(
                        TestingLeases.choice(
                                two, GpuTraits.UNKNOWN, held, UnmanagedUses.NONE, List.of(), most),
                        his));
        assertTrue(
                isNamed(
                        TestingLeases.choice(two, GpuTraits.UNKNOWN, none, used, List.of(), free),
                        his));
        assertEquals(
                false,
                isNamed(
                        TestingLeases.choice(
                                two, GpuTraits.UNKNOWN, held, UnmanagedUses.NONE, List.of(), free),
                        his));
    }

    /** On a shared host, most images would request more GPUs than there are. */
    @Test
    void defaultThatCantBeHadIsNotTheUsersRequest() throws Exception {
        List<Gpu> two = gpus(2);
        List<Lease> one =
                List.of(TestingLeases.held(1, TestingLeases.BOB, "train", two.getFirst()));
        List<Lease> both =
                List.of(TestingLeases.held(1, TestingLeases.BOB, "train", two.get(0), two.get(1)));
        LeasePolicy free = policy(OptionalInt.empty());
        assertEquals(
                "try --gpus 1 (free: 1)", refusal(two, one, free, false).remedy().orElseThrow());
        Refusal none = refusal(two, both, free, false);
        assertTrue(
                none.what().startsWith("without --gpus this image gets all 2 GPUs, and GPUs 0,1"),
                none.what());
        assertEquals("wait with --gpus 1 --gpu-wait", none.remedy().orElseThrow());
        assertEquals(
                "start the container again later, with --gpus 1",
                refusal(two, both, free, true).remedy().orElseThrow());
        Refusal never = refusal(two, List.of(), policy(OptionalInt.of(1)), false);
        assertTrue(
                never.what().startsWith("without --gpus this image gets all 2 GPUs, and each user"),
                never.what());
        assertEquals("try --gpus 1", never.remedy().orElseThrow());
    }

    private static Refusal refusal(
            List<Gpu> gpus, List<Lease> held, LeasePolicy policy, boolean byEngine)
            throws Exception {
        var holdings = TestingLeases.holdings(held, Map.of());
        var choice =
                TestingLeases.choice(
                        gpus, GpuTraits.UNKNOWN, holdings, UnmanagedUses.NONE, List.of(), policy);
        Ticket ticket = TestingLeases.ticket(1, TestingLeases.ALICE, ALL);
        return Refusals.of(
                assertInstanceOf(Outcome.Unmet.class, choice.of(ticket.requested())),
                new Addressee.ByDefault(ALL, byEngine));
    }

    /** Otherwise a waiting client would read the same words again, or miss some. */
    @Test
    void isNamedWhereTheWordsAreThere() throws Exception {
        Random random = new Random(7);
        int[] seen = new int[2];
        for (int i = 0; i < 3000; i++) {
            List<Gpu> all = gpus(1 + random.nextInt(8));
            List<Lease> leases = new ArrayList<>();
            Map<String, List<GpuUse>> uses = new HashMap<>();
            for (Gpu gpu : all) {
                int what = random.nextInt(5);
                if (what == 0) {
                    Owner owner = random.nextBoolean() ? TestingLeases.ALICE : TestingLeases.BOB;
                    leases.add(TestingLeases.held(1 + gpu.index(), owner, "c" + gpu.index(), gpu));
                }
                if (what == 1 || what == 2) {
                    uses.put(gpu.uuid(), List.of(use(gpu, random.nextInt(7))));
                }
            }
            OptionalInt most =
                    random.nextInt(3) == 0
                            ? OptionalInt.of(1 + random.nextInt(4))
                            : OptionalInt.empty();
            List<Ticket> before =
                    random.nextBoolean()
                            ? List.of()
                            : List.of(
                                    TestingLeases.ticket(
                                            1, TestingLeases.BOB, new GpuRequest.Count(1)));
            GpuChoice choice =
                    TestingLeases.choice(
                            all,
                            GpuTraits.UNKNOWN,
                            TestingLeases.holdings(leases, Map.of()),
                            new UnmanagedUses(uses, random.nextInt(4) == 0),
                            before,
                            policy(most));
            GpuRequest request =
                    random.nextBoolean()
                            ? ALL
                            : new GpuRequest.Count(1 + random.nextInt(all.size()));
            Ticket ticket = TestingLeases.ticket(2, TestingLeases.ALICE, request);
            if (choice.of(ticket.requested()) instanceof Outcome.Busy busy
                    && choice.keeping(ticket).isEmpty()) {
                Scope scope = choice.scope(ticket.requested());
                String reason = brief(ChoiceText.reason(busy));
                for (LastingText.Clause clause : LastingText.clauses(scope, Optional.of(busy))) {
                    boolean named = clause.isNamed();
                    String words = brief(clause.words());
                    assertEquals(reason.contains(words), named, () -> reason + "\n" + words);
                    seen[named ? 1 : 0]++;
                }
            }
        }
        assertTrue(seen[0] > 50 && seen[1] > 50, seen[0] + " " + seen[1]);
    }

    /** Without what only the first clause of a sentence has. */
    private static String brief(String words) {
        return words.replaceAll(" \\(GPU-\\d{8}\\)|, which jnvdocker did not start", "");
    }
}
