package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.POLICY;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.LastingText;
import jnvdocker.lease.text.Refusals;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A number of GPUs of a model, or with so much memory. */
class FilteredChoiceTest {
    private static final Gpu T4 = gpu(0, "Tesla T4");
    private static final Gpu SMALL = gpu(1, "NVIDIA A100-SXM4-40GB");
    private static final Gpu LARGE = gpu(2, "NVIDIA A100-SXM4-80GB");
    private static final Gpu LARGER = gpu(3, "NVIDIA H100 80GB HBM3");
    private static final List<Gpu> ALL = List.of(T4, SMALL, LARGE, LARGER);
    private static final GpuTraits TRAITS =
            new GpuTraits(
                    Connections.UNKNOWN,
                    Map.of(
                            T4.uuid(),
                            15_843_721_216L,
                            SMALL.uuid(),
                            42_949_672_960L,
                            LARGE.uuid(),
                            85_899_345_920L,
                            LARGER.uuid(),
                            85_520_809_984L));

    private static Gpu gpu(int index, String model) {
        return new Gpu(
                index,
                "GPU-%08d-61a1-4d0c".formatted(index),
                index,
                "0000:0%d:00.0".formatted(index),
                model);
    }

    private static GpuChoice choice(GpuTraits traits, List<Lease> leases) {
        return TestingLeases.choice(
                ALL,
                traits,
                TestingLeases.holdings(leases, Map.of()),
                UnmanagedUses.NONE,
                List.of(),
                POLICY);
    }

    private static GpuRequest request(String option) throws RefusedException {
        return GpuRequest.parseOption(option);
    }

    private static List<Gpu> chosen(GpuChoice choice, String option) throws RefusedException {
        return assertInstanceOf(
                        Outcome.Chosen.class, choice.of(new Requested(request(option), ALICE)))
                .gpus();
    }

    private static String refusal(GpuChoice choice, String option) throws RefusedException {
        return switch (choice.of(new Requested(request(option), ALICE))) {
            case Outcome.Impossible why -> Refusals.of(why, Addressee.COMMAND).message();
            case Outcome.Busy busy -> Refusals.of(busy, Addressee.COMMAND).message();
            case Outcome.Chosen chosen -> throw new AssertionError(chosen);
        };
    }

    @Test
    void thoseAreChosenThatHaveEnough() throws Exception {
        GpuChoice choice = choice(TRAITS, List.of());
        assertEquals(List.of(SMALL), chosen(choice, "memory=40G"));
        assertEquals(List.of(LARGE, LARGER), chosen(choice, "2,memory=80G"));
        assertEquals(List.of(LARGE), chosen(choice, "memory=80GiB"));
        assertEquals(List.of(SMALL, LARGE), chosen(choice, "2,model=a100"));
        assertEquals(List.of(LARGE), chosen(choice, "model=A100,memory=43G"));
    }

    @Test
    void refusalSaysWhatIsMissing() throws Exception {
        GpuChoice choice = choice(TRAITS, List.of());
        assertEquals(
                "2 GPUs of model H100 requested, but this host has 1; request others ('jnvdocker"
                        + " gpu ls' shows them)",
                refusal(choice, "2,model=H100"));
        assertEquals(
                "1 GPU with at least 100 GB of memory requested, but this host has none; request"
                        + " others ('jnvdocker gpu ls' shows them)",
                refusal(choice, "memory=100G"));
        assertEquals(
                "5 GPUs requested, but this host has 4; request fewer ('jnvdocker gpu ls' shows"
                        + " them)",
                refusal(choice, "5"));
    }

    @Test
    void refusalNamesTheHoldersOfThoseThatAreRequested() throws Exception {
        List<Lease> leases =
                List.of(
                        TestingLeases.held(1, BOB, "train", LARGE),
                        TestingLeases.held(2, BOB, "show", T4));
        GpuChoice choice = choice(TRAITS, leases);
        String refusal = refusal(choice, "2,memory=80G");
        assertTrue(
                refusal.startsWith(
                        "2 GPUs with at least 80 GB of memory requested, but only GPU 3 of these is"
                                + " free: GPU 2 (GPU-00000002) is held by bob's container train"),
                refusal);
        assertFalse(refusal.contains("show"), refusal);
        assertEquals(List.of(LARGER), chosen(choice, "memory=80G"));
    }

    @Test
    void unknownMemoryIsNotEnough() throws Exception {
        GpuChoice blind = choice(GpuTraits.UNKNOWN, List.of());
        assertEquals(
                "1 GPU with at least 1 GB of memory requested, but NVML does not report the memory"
                    + " of GPUs 0-3; try again in a minute, or name a model or GPUs ('jnvdocker gpu"
                    + " ls' shows them)",
                refusal(blind, "memory=1G"));
        assertEquals(List.of(LARGER), chosen(blind, "model=H100"));
        GpuTraits some = new GpuTraits(Connections.UNKNOWN, Map.of(SMALL.uuid(), 42_949_672_960L));
        assertEquals(List.of(SMALL), chosen(choice(some, List.of()), "memory=40G"));
        String refusal = refusal(choice(some, List.of()), "2,memory=40G,model=A100");
        assertTrue(refusal.contains("but NVML does not report the memory of GPU 2;"), refusal);
    }

    @Test
    void freeOnesAreKeptForWhoWaitsForThemAlone() throws Exception {
        Ticket ticket =
                new Ticket(
                        1,
                        new Request(
                                request("2,memory=80G"),
                                Set.of(),
                                BOB,
                                new ProcessId(4711, 100),
                                TestingLeases.CUDA,
                                Optional.empty()),
                        Instant.EPOCH,
                        0);
        GpuChoice choice = choice(TRAITS, List.of(TestingLeases.held(1, ALICE, "train", LARGE)));
        choice = choice.keeping(ticket).orElseThrow();
        assertEquals(Optional.of(ticket), choice.verdict(LARGER).keptFor());
        assertEquals(List.of(T4, SMALL), chosen(choice, "2"));
        GpuChoice blind = choice(GpuTraits.UNKNOWN, List.of());
        assertTrue(blind.keeping(ticket).isEmpty());
        assertEquals(
                "NVML does not report the memory of GPUs 0-3",
                LastingText.of(blind.scope(ticket.requested())));
        Ticket more =
                new Ticket(
                        2,
                        new Request(
                                request("3,memory=80G"),
                                Set.of(),
                                BOB,
                                new ProcessId(4712, 100),
                                TestingLeases.CUDA,
                                Optional.empty()),
                        Instant.EPOCH,
                        0);
        assertEquals(
                "this host has only 2 GPUs with at least 80 GB of memory",
                LastingText.of(choice(TRAITS, List.of()).scope(more.requested())));
    }

    @Test
    void bestConnectedAreGivenAndKept() throws Exception {
        List<Gpu> gpus = TestingConnections.gpus(8);
        GpuTraits traits = new GpuTraits(TestingConnections.a40x8(), Map.of());
        GpuChoice choice =
                TestingLeases.choice(
                        gpus,
                        traits,
                        TestingLeases.holdings(
                                List.of(TestingLeases.held(1, ALICE, "train", gpus.get(4))),
                                Map.of()),
                        UnmanagedUses.NONE,
                        List.of(),
                        POLICY);
        assertEquals(List.of(gpus.get(5)), chosen(choice, "1"));
        // The other bridge is in the part of the host from which nothing is taken yet.
        assertEquals(List.of(gpus.get(6), gpus.get(7)), chosen(choice, "2"));
        Ticket ticket =
                new Ticket(
                        1,
                        new Request(
                                request("2"),
                                Set.of(),
                                BOB,
                                new ProcessId(4711, 100),
                                TestingLeases.CUDA,
                                Optional.empty()),
                        Instant.EPOCH,
                        0);
        choice = choice.keeping(ticket).orElseThrow();
        assertEquals(List.of(gpus.get(2), gpus.get(3)), chosen(choice, "2"));
    }
}
