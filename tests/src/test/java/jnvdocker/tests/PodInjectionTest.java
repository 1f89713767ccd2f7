package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.MigMemory;
import jnvdocker.kubernetes.DeviceEdits;
import jnvdocker.kubernetes.KubernetesPolicy;
import jnvdocker.kubernetes.PodInjection;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GpuHost;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The answers to a kubelet about a container's devices: GPU 0 has MIG instances, and GPU 1 is
 * whole.
 */
@Tag("root")
class PodInjectionTest {
    private static final String INSTANCE = "MIG-22d5a1c4-0d6e-5d27-9b3e-6e5a1c1f0a01";

    private final DriverRoot root = DriverRoot.make(DriverRoot.Release.DRIVER_535, 2);
    private final Path directory = Directories.make("pods");
    private Host host;
    private ServedVolumes served;
    private GpuHost gpuHost;
    private PodInjection injection;

    @BeforeEach
    void open() throws IOException {
        root.instance(0, 2, 0, 21);
        host = Host.at(root.directory());
        String address = HostDriver.read(host).gpus().getFirst().pciAddress();
        host.mig()
                .report(
                        address,
                        new MigMemory.Mode(
                                true,
                                List.of(
                                        new MigMemory.Instance(
                                                INSTANCE,
                                                0,
                                                2,
                                                0,
                                                "MIG 3g.20gb",
                                                Optional.empty()))));
        DeviceNodes nodes = new DeviceNodes(host);
        DriverVolumeStore store = new DriverVolumeStore(directory.resolve("state"));
        Path run = Files.createDirectory(directory.resolve("run"));
        served = new ServedVolumes(store, directory.resolve("state"), run);
        gpuHost = new GpuHost(host, new GpuInventory(host, nodes), nodes, store, served);
        injection = injection(true);
    }

    private PodInjection injection(boolean cdi) {
        KubernetesPolicy policy =
                new KubernetesPolicy(
                        true,
                        KubernetesPolicy.RESOURCE,
                        false,
                        KubernetesPolicy.KUBELET_DIRECTORY,
                        cdi,
                        List.of(),
                        Optional.empty());
        return new PodInjection(
                gpuHost, () -> policy, directory.resolve("run"), directory.resolve("cdi"));
    }

    @AfterEach
    void close() throws IOException {
        injection.close();
        injection.remove();
        served.releaseAll();
        root.close();
        Directories.remove(directory);
    }

    private void start() throws InterruptedException {
        injection.start().awaitFirstScan(Duration.ofSeconds(60));
    }

    private List<Gpu> gpus() throws IOException {
        return HostDriver.read(host).gpus();
    }

    private static List<String> names(DeviceEdits edits) {
        return edits.nodes().stream().map(DeviceEdits.Node::containerPath).toList();
    }

    @Test
    void containerGetsExactlyTheNodesOfItsGpusAndThePathOfTheDriver() throws Exception {
        // As a runtime does that finds nothing at the place of a mount.
        Files.createDirectory(directory.resolve("run/driver"));
        start();
        DeviceEdits whole = injection.of(List.of(gpus().getLast()));
        assertEquals(
                List.of(
                        "/dev/nvidiactl",
                        "/dev/nvidia-uvm",
                        "/dev/nvidia-uvm-tools",
                        "/dev/nvidia1"),
                names(whole));
        for (DeviceEdits.Node node : whole.nodes()) {
            assertEquals(root.directory() + node.containerPath(), node.hostPath());
            assertTrue(Files.exists(Path.of(node.hostPath())), node::hostPath);
        }
        Path driver = directory.resolve("run/driver");
        assertEquals(
                List.of(new DeviceEdits.Mount(driver.toString(), "/usr/local/nvidia")),
                whole.mounts());
        assertTrue(driver.toRealPath().endsWith(root.version()));
        assertEquals(Map.of("NVIDIA_VISIBLE_DEVICES", "void"), whole.environment());
        assertEquals(List.of("pod.jnvdocker/gpu=" + gpus().getLast().uuid()), whole.cdi());
        DeviceEdits part = injection.of(List.of(gpus().getFirst()));
        assertEquals(
                List.of(
                        "/dev/nvidia0",
                        "/dev/nvidia-caps/nvidia-cap21",
                        "/dev/nvidia-caps/nvidia-cap22"),
                names(part).subList(3, 6));
        assertEquals(List.of("pod.jnvdocker/gpu=" + INSTANCE), part.cdi());
    }

    /**
     * Docker before 28.3 refuses a container with CDI devices unless it is configured to accept
     * them.
     */
    @Test
    void withoutCdiTheFileIsRemovedAndTheRestStays() throws Exception {
        start();
        Path file = injection.cdiFile().orElseThrow();
        DeviceEdits both = injection.of(gpus());
        assertTrue(Files.exists(file));
        injection.close();
        injection = injection(false);
        start();
        DeviceEdits nodes = injection.of(gpus());
        assertEquals(List.of(), nodes.cdi());
        assertEquals(both.nodes(), nodes.nodes());
        assertEquals(both.mounts(), nodes.mounts());
        assertEquals(both.environment(), nodes.environment());
        assertFalse(Files.exists(file));
        assertFalse(injection.cdiFault().isPresent());
    }

    @Test
    void withoutTheFileTheNodesAreEnoughAndWithoutADriverNothingIs() throws Exception {
        assertThrows(RefusedException.class, () -> injection.of(List.of()));
        Files.createDirectories(directory.resolve("cdi"));
        Files.writeString(injection.cdiFile().orElseThrow(), "another's");
        start();
        assertEquals(List.of(), injection.of(gpus()).cdi());
        assertTrue(injection.cdiFault().isPresent());
        assertFalse(injection.obstacle().isPresent());
        assertEquals("another's", Files.readString(injection.cdiFile().orElseThrow()));
        injection.remove();
        assertTrue(injection.obstacle().isPresent());
        assertFalse(Files.exists(directory.resolve("run/driver")));
    }
}
