package jnvdocker.kubernetes;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.D;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.TestingConnections;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.Changes;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The answers that a kubelet gets, also while the disk, the driver or the kubelet hangs. */
class PodDevicePluginTest {
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Duration PATIENCE = Duration.ofSeconds(25);
    private static final String UID = "33602dd8e7472556adb8043f750b256e";

    /** The GPU of the recorded checkpoint. */
    private static final Gpu RECORDED =
            TestingLeases.gpu(0, "GPU-5c1a0000-9a1b-4d3e-8f70-000000000000", 0);

    @TempDir Path directory;

    private final CountDownLatch end = new CountDownLatch(1);
    private final Changes changes = new Changes();
    private final List<String> refused = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger requested = new AtomicInteger();
    private final TestingGrants grants = new TestingGrants();
    private final TestingKubelet kubelet = new TestingKubelet();
    private volatile Leases.Board board = TestingBoard.of().board();
    private volatile boolean hung;
    private GpuWatch watch;

    @AfterEach
    void stop() {
        end.countDown();
        watch.close();
    }

    private void hang() {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private final class TestingGrants implements PodGrants {
        private final List<List<Gpu>> reserved = Collections.synchronizedList(new ArrayList<>());
        private final List<PodStart> taken = Collections.synchronizedList(new ArrayList<>());
        private boolean hung;
        private Optional<Refusal> refusal = Optional.empty();
        private Optional<IOException> failure = Optional.empty();

        @Override
        public void reserve(List<Gpu> gpus, ProcessId by) throws RefusedException, IOException {
            answer();
            assertEquals(TestingBoard.KUBELET, by);
            reserved.add(gpus);
        }

        private void answer() throws RefusedException, IOException {
            if (hung) {
                hang();
            }
            if (refusal.isPresent()) {
                throw new RefusedException(refusal.get());
            }
            if (failure.isPresent()) {
                throw failure.get();
            }
        }

        @Override
        public List<Lease> take(PodStart start, Duration patience)
                throws RefusedException, IOException {
            assertTrue(patience.compareTo(PATIENCE) <= 0, patience::toString);
            answer();
            taken.add(start);
            return List.of();
        }
    }

    private final class TestingKubelet implements Kubelet {
        private List<ContainerDevices> listed = List.of();
        private boolean hung;
        private boolean silent;

        @Override
        public ProcessId process() {
            if (hung) {
                hang();
            }
            return TestingBoard.KUBELET;
        }

        @Override
        public List<ContainerDevices> list(Duration limit) throws IOException {
            if (silent) {
                throw new IOException("no answer within " + limit.toSeconds() + " s");
            }
            return listed;
        }
    }

    private PodDevicePlugin plugin(TestingBoard of) throws InterruptedException {
        board = of.board();
        watch = new GpuWatch(this::board, changes).start();
        assertTrue(watch.await(Duration.ofSeconds(20)));
        return plugin();
    }

    private PodDevicePlugin plugin() {
        return new PodDevicePlugin(
                KubernetesPolicy.RESOURCE,
                watch,
                new DeviceList(
                        KubernetesPolicy.RESOURCE,
                        () -> DeviceListTest.POLICY,
                        _ -> OptionalInt.empty(),
                        Set.of(A.uuid())),
                new KubeletView(kubelet, directory),
                grants,
                PodDevicePluginTest::edits,
                new NewRefusals(why -> refused.add(why.getMessage())),
                requested::incrementAndGet);
    }

    private Leases.Board board() {
        if (hung) {
            hang();
        }
        return board;
    }

    private static DeviceEdits edits(List<Gpu> gpus) {
        return new DeviceEdits(
                gpus.stream()
                        .map(gpu -> "/dev/nvidia" + gpu.minor())
                        .map(node -> new DeviceEdits.Node(node, node))
                        .toList(),
                List.of(),
                Map.of(),
                List.of());
    }

    private static String refusal(DevicePlugin plugin, Gpu... gpus) {
        return assertThrows(RefusedException.class, () -> plugin.allocate(ids(gpus))).getMessage();
    }

    private static List<String> ids(Gpu... gpus) {
        return Arrays.stream(gpus).map(Gpu::uuid).toList();
    }

    @Test
    void freeGpusAreReservedAndGiven() throws Exception {
        var plugin = plugin(TestingBoard.of(A, B, C));
        DeviceEdits edits = plugin.allocate(ids(C, A));
        assertEquals(
                List.of("/dev/nvidia3", "/dev/nvidia1"),
                edits.nodes().stream().map(DeviceEdits.Node::hostPath).toList());
        assertEquals(List.of(List.of(A, C)), grants.reserved);
    }

    /** A plugin that gives out the whole GPU gives out the instance, too. */
    @Test
    void uuidsAreThoseOfInstancesAndOfTheirGpus() throws Exception {
        Gpu part = TestingLeases.part(B, 0);
        var plugin = plugin(TestingBoard.of(part, C));
        assertEquals(Set.of(A.uuid(), part.uuid(), B.uuid(), C.uuid()), plugin.uuids());
    }

    @Test
    void refusalNamesTheHolderAndReservesNothing() throws Exception {
        var plugin = plugin(TestingBoard.of(A, B).held(TestingLeases.held(1, ALICE, "train-7", B)));
        assertEquals(
                "GPU 1 (GPU-5c1a2006) is held by alice's container train-7 since 2024-01-02"
                        + " 09:12; make the pod again, which may get others then",
                refusal(plugin, A, B));
        assertEquals(List.of(), grants.reserved);
        assertEquals(1, refused.size());
    }

    @Test
    void whatNobodyMayHaveIsRefused() throws Exception {
        Gpu sick = C.with(new Refusal("it has fallen off the bus", "reset it"));
        var ticket = TestingLeases.ticket(1, ALICE, new GpuRequest.Devices(List.of("3")));
        var plugin = plugin(TestingBoard.of(A, B, sick, D).cordoned(B).waiting(ticket));
        assertTrue(
                refusal(plugin, B).startsWith("GPU 1 (GPU-5c1a2006) is cordoned by root since"),
                () -> refused.toString());
        assertTrue(
                refusal(plugin, sick)
                        .startsWith(
                                "GPU 2 (GPU-77777777) cannot be given out: it has fallen off the"
                                        + " bus"),
                () -> refused.toString());
        assertTrue(
                refusal(plugin, D)
                        .startsWith(
                                "GPU 3 (GPU-88888888) is kept for alice (pid 4711), waiting for GPU"
                                        + " 3"),
                () -> refused.toString());
        assertTrue(
                assertThrows(
                                RefusedException.class,
                                () -> plugin.allocate(List.of("GPU-elsewhere")))
                        .getMessage()
                        .startsWith("the driver does not show GPU GPU-elsewhere"));
    }

    @Test
    void podIsNextInLineBehindReservationsAndPods() throws Exception {
        var plugin =
                plugin(
                        TestingBoard.of(A, B, C)
                                .held(TestingLeases.reserved(1, ALICE, A))
                                .held(TestingBoard.promised(2, B))
                                .held(TestingBoard.pod(3, C)));
        assertEquals(3, plugin.allocate(ids(A, B, C)).nodes().size());
    }

    @Test
    void leaseThatBeginsIsKnownAtOnceThoughAScanHangs() throws Exception {
        var plugin = plugin(TestingBoard.of(A, B));
        BlockingQueue<List<Device>> reported = new LinkedBlockingQueue<>();
        plugin.watch(() -> reported.add(plugin.devices()));
        hung = true;
        changes.add();
        watch.granted(TestingLeases.held(1, ALICE, "train-7", A));
        List<Device> last = reported.poll(20, TimeUnit.SECONDS);
        while (last.getFirst().healthy()) {
            last = reported.poll(20, TimeUnit.SECONDS);
        }
        assertTrue(last.getLast().healthy());
        assertTrue(refusal(plugin, A).startsWith("GPU 0 (GPU-5c1a1003) is held by alice's"));
        assertEquals(last, plugin.devices());
    }

    @Test
    void nobodyWaitsForAHungRegistryOrKubelet() throws Exception {
        var plugin = plugin(TestingBoard.of(A, B));
        grants.hung = true;
        kubelet.hung = true;
        hung = true;
        assertTimeoutPreemptively(
                Duration.ofSeconds(20),
                () -> {
                    for (int i = 0; i < 40; i++) {
                        long begun = System.nanoTime();
                        assertEquals(1, plugin.allocate(ids(A)).nodes().size());
                        assertEquals(2, plugin.devices().size());
                        assertEquals(ids(A), plugin.preferred(ids(B, A), List.of(), 1));
                        Duration took = Duration.ofNanos(System.nanoTime() - begun);
                        assertTrue(took.compareTo(SECOND) < 0, took::toString);
                    }
                });
        assertEquals(List.of(), grants.reserved);
    }

    @Test
    void devicesAreUnhealthyAndGivenToNobodyBeforeTheFirstScan() {
        hung = true;
        watch = new GpuWatch(this::board, changes).start();
        var plugin = plugin();
        assertEquals(List.of(new Device(A.uuid(), false, OptionalInt.empty())), plugin.devices());
        assertEquals(ids(B, A), plugin.preferred(ids(A, B), ids(B), 2));
        assertTrue(refusal(plugin, A).startsWith("jnvdockerd has just started"));
    }

    @Test
    void podGetsItsLeaseLaterWhenTheRegistryFails() throws Exception {
        var plugin = plugin(TestingBoard.of(A));
        grants.failure = Optional.of(new IOException("disk full"));
        assertEquals(1, plugin.allocate(ids(A)).nodes().size());
    }

    @Test
    void refusalOfTheRegistryIsPassedOn() throws Exception {
        var plugin = plugin(TestingBoard.of(A));
        grants.refusal = Optional.of(new Refusal("GPU 0 is taken", "wait"));
        assertEquals("GPU 0 is taken; wait", refusal(plugin, A));
    }

    @ParameterizedTest
    @CsvSource({
        // The usual choice.
        "1, 0 1 2 3 4 5 6 7, '', 0",
        "2, 4 5 6 7 2 0, '', 4 5",
        // With one that must be in it.
        "2, 0 1 2 3 4 5 6 7, 5, 4 5",
        "3, 0 1 2 3 4 5 6 7, 6, 4 5 6",
        "4, 0 1 2 3 4 5 6 7, 2 5, 2 3 4 5",
        "2, 0 1 2 3 4 5 6 7, 3 4, 3 4",
        // All there are, and no more.
        "8, 0 1 2 3, '', 0 1 2 3",
        "0, 0 1 2 3, '', ''",
    })
    void preferredGpusAreTheBestConnected(
            int size, String available, String included, String expected) throws Exception {
        List<Gpu> all = TestingConnections.gpus(8);
        var plugin = plugin(TestingBoard.of(all, TestingConnections.a100x8()));
        List<String> answer = plugin.preferred(some(all, available), some(all, included), size);
        assertEquals(Set.copyOf(some(all, expected)), Set.copyOf(answer));
        assertEquals(some(all, expected).size(), answer.size());
    }

    private static List<String> some(List<Gpu> all, String indexes) {
        return Arrays.stream(indexes.split(" "))
                .filter(index -> !index.isEmpty())
                .map(index -> all.get(Integer.parseInt(index)).uuid())
                .toList();
    }

    @Test
    void freeGpusArePreferredToThoseOfPodsThatEnd() throws Exception {
        var plugin =
                plugin(
                        TestingBoard.of(A, B, C, D)
                                .held(TestingBoard.pod(1, A))
                                .held(TestingBoard.promised(2, C)));
        assertEquals(ids(B, D), plugin.preferred(ids(A, B, C, D), List.of(), 2));
        assertEquals(
                Set.copyOf(ids(A, B, D)), Set.copyOf(plugin.preferred(ids(D, B, A), List.of(), 3)));
    }

    @Test
    void idsThatNobodyKnowsFillThePreferredOnes() throws Exception {
        var plugin = plugin(TestingBoard.of(A));
        assertEquals(
                List.of("GPU-x", A.uuid(), "GPU-y"),
                plugin.preferred(List.of("GPU-y", "GPU-x", A.uuid()), List.of("GPU-x"), 3));
    }

    @Test
    void startTakesTheLeaseForThePodByNameAndUid() throws Exception {
        recorded();
        kubelet.listed =
                List.of(
                        new Kubelet.ContainerDevices(
                                "default",
                                "p1-node1",
                                "main",
                                KubernetesPolicy.RESOURCE,
                                Set.of(RECORDED.uuid())));
        plugin(TestingBoard.of(RECORDED)).start(ids(RECORDED), PATIENCE);
        assertEquals(
                List.of(
                        new PodStart(
                                List.of(RECORDED),
                                new Origin.Pod(UID, "default", "p1-node1"),
                                Optional.of("main"),
                                TestingBoard.KUBELET)),
                grants.taken);
        assertEquals(1, requested.get());
    }

    private void recorded() throws IOException {
        Path file = directory.resolve("device-plugins/kubelet_internal_checkpoint");
        Files.createDirectories(file.getParent());
        try (InputStream in = getClass().getResourceAsStream("one-pod.json")) {
            Files.write(file, in.readAllBytes());
        }
    }

    @Test
    void startWithASilentKubeletKnowsThePodByItsUid() throws Exception {
        recorded();
        kubelet.silent = true;
        plugin(TestingBoard.of(RECORDED)).start(ids(RECORDED), PATIENCE);
        assertEquals(new Origin.Pod(UID, "", ""), grants.taken.getFirst().pod());
    }

    @Test
    void startOfAPodThatNothingTellsIsTriedAllTheSame() throws Exception {
        plugin(TestingBoard.of(A)).start(ids(A), PATIENCE);
        assertEquals(Origin.Pod.UNKNOWN, grants.taken.getFirst().pod());
    }

    @Test
    void startRefusesNodesThatAreOtherGpusNow() throws Exception {
        recorded();
        Gpu moved = TestingLeases.gpu(0, RECORDED.uuid(), 1);
        var plugin = plugin(TestingBoard.of(moved));
        var e = assertThrows(RefusedException.class, () -> plugin.start(ids(moved), PATIENCE));
        assertEquals(
                "the pod would get nvidia0, but its GPUs are nvidia1 since the driver was loaded"
                        + " again; delete the pod; a new one gets the right nodes",
                e.getMessage());
        assertEquals(List.of(), grants.taken);
    }

    @Test
    void startThatIsTriedForEverIsLoggedOnce() throws Exception {
        var plugin = plugin(TestingBoard.of(A));
        grants.refusal = Optional.of(new Refusal("GPU 0 is taken", "wait"));
        for (int i = 0; i < 3; i++) {
            assertThrows(RefusedException.class, () -> plugin.start(ids(A), PATIENCE));
        }
        assertEquals(List.of("GPU 0 is taken; wait"), refused);
    }

    @Test
    void startSaysThatTheRegistryFails() throws Exception {
        var plugin = plugin(TestingBoard.of(A));
        grants.failure = Optional.of(new IOException("disk full"));
        var e = assertThrows(RefusedException.class, () -> plugin.start(ids(A), PATIENCE));
        assertEquals("the pod's lease cannot be taken: disk full", e.getMessage());
    }
}
