package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.Unleased;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.registry.HostClock;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.use.GpuAccess;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUse.Kind;
import jnvdocker.use.GpuUses;
import jnvdocker.use.MemoryUsers;
import jnvdocker.use.RunningContainer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Which of the uses that were seen are without a lease. The test's own process is the user. */
class UnmanagedScanTest {
    private static final String CLAIM = "000000000001";
    private static final ClaimKey KEY = TestingLeases.key(CLAIM);
    private static final ClaimKey OTHER = TestingLeases.key("000000000002");
    private static final String OF_THE_LEASE = "c".repeat(64);

    @TempDir Path directory;
    private final List<GpuUse> seen = new ArrayList<>();
    private final ProcessId us =
            Processes.ofThisMachine().find((int) ProcessHandle.current().pid()).orElseThrow();
    private LeaseRegistry registry;
    private UnmanagedScan unmanagedScan;

    @BeforeEach
    void open() throws IOException {
        registry =
                LeaseRegistry.open(
                        directory, "boot", HostClock.OF_THIS_MACHINE, TestingLeases.RANDOM);
        registry.claims().restore(TestingLeases.claim(CLAIM, ALICE, A), true);
        Processes processes = Processes.ofThisMachine();
        Evidence evidence = new Evidence(processes, "boot", directory, List.of());
        unmanagedScan =
                new UnmanagedScan(
                        new Seen(),
                        registry,
                        evidence,
                        new Unleased(registry, evidence),
                        new Leftovers(evidence, MemoryUsers.UNKNOWN));
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    private final class Seen implements GpuUses {
        @Override
        public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
            return seen;
        }

        @Override
        public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
            return seen;
        }
    }

    @Test
    void processWithoutALeaseIsOne() throws IOException {
        GpuUse process = open(A, us, Optional.empty(), Optional.empty());
        assertEquals(Map.of(A.uuid(), List.of(process)), among(process));
        assertEquals(
                Map.of(B.uuid(), List.of(open(B, us, Optional.empty(), Optional.of(OF_THE_LEASE)))),
                among(
                        List.of(TestingLeases.held(1, ALICE, "train-7", A)),
                        open(A, us, Optional.empty(), Optional.of(OF_THE_LEASE)),
                        open(B, us, Optional.empty(), Optional.of(OF_THE_LEASE))));
    }

    @Test
    void processThatHasEndedIsNone() throws IOException {
        ProcessId gone = new ProcessId(us.pid(), us.startTime() + 1);
        assertEquals(Map.of(), among(open(A, gone, Optional.empty(), Optional.empty())));
    }

    @Test
    void containerIsOneForGpusOutsideItsClaim() throws IOException {
        RunningContainer ours =
                TestingLeases.running(
                        "ours",
                        Map.of(ClaimNames.CLAIM_LABEL, KEY.text()),
                        List.of(ClaimNames.volume(KEY)));
        GpuUse beside = given(B, ours);
        assertEquals(Map.of(B.uuid(), List.of(beside)), among(given(A, ours), beside));
    }

    @Test
    void labelWithoutTheClaimsVolumeCountsForNothing() throws IOException {
        GpuUse labelled =
                given(
                        A,
                        TestingLeases.running(
                                "plain-1", Map.of(ClaimNames.CLAIM_LABEL, KEY.text()), List.of()));
        assertEquals(Map.of(A.uuid(), List.of(labelled)), among(labelled));
    }

    @Test
    void forgottenClaimStillNamesTheGpusOfItsContainer() throws IOException {
        registry.claims().forget(CLAIM);
        containerIsOneForGpusOutsideItsClaim();
    }

    @Test
    void releasedByForceAContainerCountsByTheUsesOfItsProcesses() throws IOException {
        RunningContainer ours =
                TestingLeases.running(
                        "ours",
                        Map.of(ClaimNames.CLAIM_LABEL, KEY.text()),
                        List.of(ClaimNames.volume(KEY)));
        assertEquals(Map.of(), among(given(A, ours)));
        GpuUse process = open(A, us, Optional.of(ours), Optional.of(ours.id()));
        assertEquals(Map.of(A.uuid(), List.of(process)), among(given(A, ours), process));
    }

    @Test
    void containerAndItsProcessesAreOne() throws IOException {
        RunningContainer plain = TestingLeases.running("plain-1", Map.of(), List.of());
        GpuUse given = given(A, plain);
        GpuUse process = open(A, us, Optional.of(plain), Optional.of(plain.id()));
        GpuUse other = open(A, us, Optional.empty(), Optional.empty());
        GpuUse both = new GpuUse(A, Kind.REQUEST, given.container(), process.process());
        assertEquals(Map.of(A.uuid(), List.of(both, other)), among(other, process, process, given));
    }

    /** Its processes have the whole GPU's node open, as those of every other instance have. */
    @Test
    void holderOfAnInstanceUsesNoOther() throws IOException {
        Gpu first = TestingLeases.part(A, 0);
        Gpu second = TestingLeases.part(A, 1);
        Lease lease = TestingLeases.held(1, ALICE, "train-7", first);
        RunningContainer holder =
                new RunningContainer(
                        OF_THE_LEASE,
                        "train-7",
                        "cuda",
                        Optional.empty(),
                        Map.of(),
                        List.of(),
                        GpuAccess.NONE);
        GpuUse unclear =
                open(second, us, Optional.of(holder), Optional.of(OF_THE_LEASE), Kind.OPEN_WHOLE);
        assertEquals(Map.of(), among(List.of(lease), unclear));
        assertEquals(
                Map.of(second.uuid(), List.of(unclear)),
                among(List.of(TestingLeases.held(1, ALICE, "train-7", B)), unclear));
        GpuUse clear = open(second, us, Optional.of(holder), Optional.of(OF_THE_LEASE), Kind.OPEN);
        assertEquals(Map.of(second.uuid(), List.of(clear)), among(List.of(lease), clear));
    }

    @Test
    void containerWithAClaimForAnInstanceHasTheNodeOfTheWhole() throws IOException {
        registry.claims()
                .restore(
                        TestingLeases.claim("000000000002", ALICE, TestingLeases.part(A, 0)), true);
        RunningContainer ours =
                TestingLeases.running(
                        "ours",
                        Map.of(ClaimNames.CLAIM_LABEL, OTHER.text()),
                        List.of(ClaimNames.volume(OTHER)));
        assertEquals(
                Map.of(),
                among(
                        new GpuUse(
                                TestingLeases.part(A, 1),
                                Kind.NODE,
                                Optional.of(ours),
                                Optional.empty())));
    }

    private static GpuUse given(Gpu gpu, RunningContainer container) {
        return new GpuUse(gpu, Kind.REQUEST, Optional.of(container), Optional.empty());
    }

    private static GpuUse open(
            Gpu gpu,
            ProcessId process,
            Optional<RunningContainer> container,
            Optional<String> containerId) {
        return open(gpu, process, container, containerId, Kind.OPEN);
    }

    private static GpuUse open(
            Gpu gpu,
            ProcessId process,
            Optional<RunningContainer> container,
            Optional<String> containerId,
            Kind kind) {
        GpuUse.User user = new GpuUse.User(process, "python3", 0, containerId);
        return new GpuUse(gpu, kind, container, Optional.of(user));
    }

    private Map<String, List<GpuUse>> among(GpuUse... uses) throws IOException {
        return among(List.of(), uses);
    }

    private Map<String, List<GpuUse>> among(List<Lease> live, GpuUse... uses) throws IOException {
        seen.clear();
        seen.addAll(List.of(uses));
        return unmanagedScan
                .assign(unmanagedScan.scan(List.of(A, B), Duration.ofSeconds(1)), live)
                .uses();
    }
}
