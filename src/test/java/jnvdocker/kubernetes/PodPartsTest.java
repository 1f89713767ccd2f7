package jnvdocker.kubernetes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.core.LeaseParts;
import jnvdocker.decision.DecisionLog;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.host.Host;
import jnvdocker.kubernetes.Kubelet.ContainerDevices;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.registry.HostClock;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.AllowanceReader;
import jnvdocker.use.MemoryUsers;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The parts with a registry and its own threads; there is no engine, and a kubelet that answers.
 */
class PodPartsTest {
    private static final Duration LONG = Duration.ofSeconds(20);

    @TempDir Path directory;
    private final ProcessId self =
            Processes.ofThisMachine().find((int) ProcessHandle.current().pid()).orElseThrow();
    private final Troubles troubles = new Troubles();
    private final BlockingQueue<Duration> requested = new LinkedBlockingQueue<>();
    private volatile List<Gpu> gpus = List.of(TestingLeases.A, TestingLeases.B);
    private volatile KubernetesPolicy policy;
    private DockerEngine engine;
    private final PodKind pods = new PodKind(Processes.ofThisMachine());
    private LeaseParts leases;
    private Optional<PodParts> parts = Optional.empty();

    private final class TestingKubelet implements Kubelet {
        @Override
        public ProcessId process() {
            return self;
        }

        @Override
        public List<ContainerDevices> list(Duration limit) {
            requested.add(limit);
            return List.of();
        }
    }

    private static final class Troubles implements GpuTroubles {
        private volatile Set<Gpu> sick = Set.of();
        private volatile Runnable listener = () -> {};

        @Override
        public Optional<Refusal> of(Gpu gpu) {
            return sick.contains(gpu)
                    ? Optional.of(new Refusal("it is lost", "reset it"))
                    : Optional.empty();
        }

        @Override
        public void addListener(Runnable listener) {
            this.listener = listener;
        }

        void are(Set<Gpu> sick) {
            this.sick = sick;
            listener.run();
        }
    }

    @BeforeEach
    void open() throws IOException {
        policy = policy(false);
        engine =
                new DockerEngine(
                        directory.resolve("no-engine.sock"),
                        directory.resolve("proxy.sock"),
                        _ -> false);
        LeaseParts.World world =
                new LeaseParts.World(
                        Files.createDirectory(directory.resolve("state")),
                        "boot",
                        "nvidia-docker",
                        Processes.ofThisMachine(),
                        engine,
                        () -> gpus,
                        TestingLeases.NO_USES,
                        troubles,
                        MemoryUsers.UNKNOWN,
                        () -> TestingLeases.POLICY,
                        Set::of,
                        () -> GpuTraits.UNKNOWN,
                        HostClock.OF_THIS_MACHINE,
                        TestingLeases.RANDOM,
                        Pace.REAL,
                        AllowanceReader.Groups.OF_THIS_HOST,
                        new DecisionLog(Optional.empty()));
        leases = LeaseParts.open(world, pods);
    }

    /** With a kubelet's directory of the test's own, since this machine may have one. */
    private KubernetesPolicy policy(boolean perModel) {
        return new KubernetesPolicy(
                true,
                KubernetesPolicy.RESOURCE,
                perModel,
                directory.resolve("kubelet"),
                true,
                List.of(),
                Optional.empty());
    }

    @AfterEach
    void close() throws Exception {
        parts.ifPresent(PodParts::close);
        leases.close();
        engine.close();
    }

    private Map<String, DevicePlugin> plugins() throws Exception {
        parts =
                Optional.of(
                        PodParts.start(
                                new PodParts.World(
                                        leases,
                                        new PodLeases(leases, Pace.REAL, pods),
                                        () -> gpus,
                                        Host.at(directory),
                                        new TestingKubelet(),
                                        _ ->
                                                new DeviceEdits(
                                                        List.of(), List.of(), Map.of(), List.of()),
                                        () -> policy)));
        return parts.get().plugins(LONG);
    }

    private static void await(BlockingQueue<List<Device>> reported, List<Boolean> healthy)
            throws InterruptedException {
        List<Boolean> now = List.of();
        while (!now.equals(healthy)) {
            List<Device> next = reported.poll(LONG.toSeconds(), TimeUnit.SECONDS);
            assertTrue(next != null, "never " + healthy);
            now = next.stream().map(Device::healthy).toList();
        }
    }

    @Test
    void leasesOfOthersAndTheirEndsAreReported() throws Exception {
        DevicePlugin plugin = plugins().get(KubernetesPolicy.RESOURCE);
        BlockingQueue<List<Device>> reported = new LinkedBlockingQueue<>();
        plugin.watch(() -> reported.add(plugin.devices()));
        Claim claim =
                leases.leases()
                        .runs()
                        .take(
                                new Request(
                                        new GpuRequest.Devices(List.of("0")),
                                        Set.of(),
                                        TestingLeases.ALICE,
                                        self,
                                        new Origin.HostProcess("train"),
                                        Optional.empty()),
                                Optional.empty())
                        .keep()
                        .orElseThrow();
        await(reported, List.of(false, true));
        leases.leases().reservations().cancel(claim);
        await(reported, List.of(true, true));
    }

    @Test
    void faultWakesTheScanAndIsReported() throws Exception {
        DevicePlugin plugin = plugins().get(KubernetesPolicy.RESOURCE);
        BlockingQueue<List<Device>> reported = new LinkedBlockingQueue<>();
        plugin.watch(() -> reported.add(plugin.devices()));
        for (Set<Gpu> sick : List.of(Set.of(TestingLeases.B), Set.<Gpu>of())) {
            long changes = leases.registry().changes().count();
            troubles.are(sick);
            assertEquals(changes + 1, leases.registry().changes().count());
            await(reported, List.of(true, sick.isEmpty()));
        }
    }

    @Test
    void kubeletIsQueriedAtTheStartAndMoreOftenWhilePodsHaveGpus() throws Exception {
        DevicePlugin plugin = plugins().get(KubernetesPolicy.RESOURCE);
        assertEquals(1, requested.size());
        plugin.allocate(List.of(TestingLeases.A.uuid()));
        for (int i = 0; i < 3; i++) {
            assertTrue(requested.poll(LONG.toSeconds(), TimeUnit.SECONDS) != null, "query " + i);
        }
    }

    @Test
    void eachModelIsAResourceOnceThereIsAGpu() throws Exception {
        policy = policy(true);
        Gpu t4 = new Gpu(2, TestingLeases.C.uuid(), 2, "0000:02:00.0", "Tesla T4");
        List<Gpu> both = List.of(TestingLeases.A, t4);
        gpus = List.of();
        Thread.ofVirtual()
                .start(() -> {
                    while (requested.isEmpty()) {
                        Thread.onSpinWait();
                    }
                    gpus = both;
                    leases.registry().changes().add();
                });
        Map<String, DevicePlugin> plugins = plugins();
        assertEquals(Set.of("nvidia.com/a100-sxm4-40gb", "nvidia.com/tesla-t4"), plugins.keySet());
        assertEquals(
                List.of(t4.uuid()),
                plugins.get("nvidia.com/tesla-t4").devices().stream().map(Device::id).toList());
    }
}
