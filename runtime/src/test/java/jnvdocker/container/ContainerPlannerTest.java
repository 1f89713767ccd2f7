package jnvdocker.container;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.DeviceNode;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverVersion;
import jnvdocker.labels.ImageConfig;
import jnvdocker.request.Gpus;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Device nodes are created beneath the test's own root directory, which only root can do. */
@Tag("root")
class ContainerPlannerTest {
    private static final String DEFAULT_PATH =
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/nvidia/bin";
    private static final String LIBRARIES = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64";
    private static final UserSettings NOTHING = new UserSettings(Set.of(), Set.of(), Set.of());

    @TempDir Path root;
    private ContainerPlanner planner;

    @BeforeEach
    void makeHost() throws IOException {
        Files.createDirectory(root.resolve("dev"));
        devices("Character devices:\n195 nvidia\n510 nvidia-uvm\n");
        planner = new ContainerPlanner(new DeviceNodes(Host.at(root)), "nvidia-docker");
    }

    @Test
    void controlNodesComeFirstAndGpusInOrderOfIndex() throws Exception {
        assertEquals(
                List.of(
                        "/dev/nvidiactl",
                        "/dev/nvidia-uvm",
                        "/dev/nvidia-uvm-tools",
                        "/dev/nvidia3",
                        "/dev/nvidia0",
                        "/dev/nvidia1"),
                names(plan(Gpus.ALL, NOTHING).devices()));
    }

    @Test
    void nodesOfOtherGpusAreNotGiven() throws Exception {
        var request = List.of(Gpus.ALL.get(1));
        assertEquals("/dev/nvidia0", names(plan(request, NOTHING).devices()).getLast());
        assertEquals(4, plan(request, NOTHING).devices().size());
    }

    @Test
    void nodesAreThoseBeneathTheHostsRoot() throws Exception {
        DeviceNode ctl = plan(List.of(), NOTHING).devices().getFirst();
        assertEquals(root.toRealPath().resolve("dev/nvidiactl"), ctl.hostPath());
    }

    @Test
    void noGpuStillHasDriverAndControlNodes() throws Exception {
        ContainerEdits edits = plan(List.of(), NOTHING);
        assertEquals(3, edits.devices().size());
        assertEquals(1, edits.mounts().size());
    }

    @Test
    void nodeThatTheUserGivesIsNotGivenTwice() throws Exception {
        UserSettings settings = new UserSettings(Set.of(), Set.of(), Set.of(3));
        assertEquals(
                List.of("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"),
                names(plan(List.of(Gpus.ALL.get(0)), settings).devices()));
    }

    @Test
    void driverVolumeIsNamedByTheLoadedDriver() throws Exception {
        assertEquals(
                List.of(
                        new VolumeMount(
                                "nvidia_driver_535.104.05", "nvidia-docker", "/usr/local/nvidia")),
                plan(List.of(), NOTHING).mounts());
    }

    @Test
    void usersOwnMountTakesThePlaceOfTheDriver() throws Exception {
        var settings = new UserSettings(Set.of(), Set.of("/usr/local/nvidia", "/data"), Set.of());
        assertEquals(List.of(), plan(List.of(), settings).mounts());
    }

    @Test
    void mountElsewhereDoesNot() throws Exception {
        var settings =
                new UserSettings(
                        Set.of(),
                        Set.of("/usr/local", "/usr/local/nvidia/bin", "/usr/local/nvidia2"),
                        Set.of());
        assertEquals(1, plan(List.of(), settings).mounts().size());
    }

    @Test
    void imageWithoutPathsGetsDockersAndTheDrivers() throws Exception {
        Map<String, String> expected = Map.of("PATH", DEFAULT_PATH, "LD_LIBRARY_PATH", LIBRARIES);
        assertEquals(expected, environment());
        assertEquals(expected, environment("PATH=", "LD_LIBRARY_PATH="));
    }

    @Test
    void driversDirectoriesFollowTheImages() throws Exception {
        assertEquals(
                Map.of(
                        "PATH",
                        "/opt/bin:/bin:/usr/local/nvidia/bin",
                        "LD_LIBRARY_PATH",
                        "/opt/lib:" + LIBRARIES),
                environment("PATH=/opt/bin:/bin", "LD_LIBRARY_PATH=/opt/lib"));
    }

    @Test
    void pathThatNamesTheDriverIsLeftAsItIs() throws Exception {
        assertEquals(
                Map.of("LD_LIBRARY_PATH", LIBRARIES),
                environment("PATH=/usr/local/nvidia/bin:/bin"));
        assertEquals(
                Map.of("PATH", DEFAULT_PATH),
                environment("LD_LIBRARY_PATH=/opt/lib:/usr/local/nvidia/lib64"));
    }

    @Test
    void directoryOfAlmostTheSameNameIsNotTheDrivers() throws Exception {
        assertEquals(
                "/usr/local/nvidia2/bin:/usr/local/nvidia/bin",
                environment("PATH=/usr/local/nvidia2/bin").get("PATH"));
    }

    @Test
    void variablesThatTheUserSetsAreLeftToTheUser() throws Exception {
        var settings = new UserSettings(Set.of("PATH", "LD_LIBRARY_PATH"), Set.of(), Set.of());
        assertEquals(Map.of(), paths(plan(List.of(), settings)));
    }

    /** Where the container's root cannot be edited. */
    @Test
    void graphicsAreFoundByVariables() throws Exception {
        String request = "NVIDIA_DRIVER_CAPABILITIES=graphics";
        Map<String, String> found = environment(request);
        assertEquals(
                "/usr/local/share:/usr/share:/usr/local/nvidia/share", found.get("XDG_DATA_DIRS"));
        assertEquals(
                "/usr/local/nvidia/share/glvnd/egl_vendor.d:/etc/glvnd/egl_vendor.d"
                        + ":/usr/share/glvnd/egl_vendor.d",
                found.get("__EGL_VENDOR_LIBRARY_DIRS"));
        assertEquals(
                "/opt/share:/usr/local/nvidia/share",
                environment(request, "XDG_DATA_DIRS=/opt/share").get("XDG_DATA_DIRS"));
        assertNull(environment("NVIDIA_DRIVER_CAPABILITIES=compute").get("XDG_DATA_DIRS"));
    }

    /** Nodes made by udev: docker copies the host's. */
    @Test
    void graphicsComeWithTheGpusOwnNodes() throws Exception {
        Gpu gpu = Gpus.ALL.getFirst();
        Path drm = root.resolve("sys/bus/pci/devices/" + gpu.pciAddress() + "/drm");
        for (int number = 0; number < 2; number++) {
            Path card = Files.createDirectories(drm.resolve("card" + number));
            Files.writeString(card.resolve("dev"), "226:" + number + "\n");
        }
        Files.createFile(Files.createDirectories(root.resolve("dev/dri")).resolve("card1"));
        ContainerEdits edits =
                planner.plan(
                        container(
                                List.of(gpu),
                                NOTHING,
                                ContainerPlanner.Visible.UUIDS,
                                "NVIDIA_DRIVER_CAPABILITIES=graphics"));
        String place = "/dev/dri/by-path/pci-" + gpu.pciAddress() + "-card";
        assertEquals(
                List.of("/dev/dri/card1", place),
                names(edits.devices()).stream().filter(name -> name.contains("dri")).toList());
    }

    /** As NVIDIA's tools give a container with the capability utility alone its nodes. */
    @Test
    void observerHasNoNodeByWhichCudaComputes() throws Exception {
        ContainerEdits edits =
                planner.plan(
                        new ContainerPlanner.Container(
                                ImageConfig.of(
                                        Map.of(), List.of("NVIDIA_DRIVER_CAPABILITIES=utility")),
                                Allocation.observing(Gpus.ALL),
                                NOTHING,
                                DriverVersion.parse("535.104.05"),
                                ContainerPlanner.Visible.UUIDS));
        List<String> all = names(plan(Gpus.ALL, NOTHING).devices());
        assertEquals(
                all.stream().filter(name -> !name.contains("uvm")).toList(),
                names(edits.devices()));
        assertTrue(all.size() == edits.devices().size() + 2, all::toString);
        assertEquals(Map.of(), edits.labels());
    }

    @Test
    void otherRuntimesGetVariablesToAddNothing() throws Exception {
        ContainerEdits edits =
                planner.plan(
                        container(
                                Gpus.ALL,
                                new UserSettings(
                                        Set.of("NVIDIA_VISIBLE_DEVICES"), Set.of(), Set.of()),
                                ContainerPlanner.Visible.VOID,
                                "NVIDIA_VISIBLE_DEVICES=all"));
        assertEquals("void", edits.environment().get("NVIDIA_VISIBLE_DEVICES"));
    }

    @Test
    void programsLearnTheirGpusByUuid() throws Exception {
        assertEquals(
                Gpus.ALL.get(0).uuid() + "," + Gpus.ALL.get(1).uuid(),
                plan(Gpus.ALL.subList(0, 2), NOTHING).environment().get("NVIDIA_VISIBLE_DEVICES"));
        assertEquals("void", plan(List.of(), NOTHING).environment().get("NVIDIA_VISIBLE_DEVICES"));
    }

    /** Docker's commit would make the names of this host's GPUs those of an image. */
    @Test
    void engineThatKeepsVariablesGetsNoNamesOfGpus() throws Exception {
        for (String image : List.of("A=1", "NVIDIA_VISIBLE_DEVICES=all")) {
            ContainerEdits edits =
                    planner.plan(
                            container(
                                    Gpus.ALL, NOTHING, ContainerPlanner.Visible.UNCHANGED, image));
            assertFalse(edits.environment().containsKey("NVIDIA_VISIBLE_DEVICES"), edits::toString);
            assertFalse(edits.environment().toString().contains("GPU-"), edits::toString);
        }
    }

    @Test
    void variablesComeInTheSameOrderEachTime() throws Exception {
        ContainerEdits edits =
                planner.plan(container(List.of(), NOTHING, ContainerPlanner.Visible.VOID));
        assertEquals(
                List.of("PATH", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES"),
                List.copyOf(edits.environment().keySet()));
    }

    @Test
    void withoutTheUvmModuleThereIsNoContainer() throws IOException {
        devices("Character devices:\n195 nvidia\n");
        assertThrows(NoDriverException.class, () -> plan(List.of(), NOTHING));
    }

    @Test
    void mountAndLabelOfTheClaimAreCarried() throws Exception {
        ContainerEdits edits = planner.plan(claimed(NOTHING));
        assertEquals("claim", edits.mounts().getLast().volume());
        assertEquals(Map.of("jnvdocker.claim", "1"), edits.labels());
    }

    @Test
    void nothingMayHideIt() {
        var settings = new UserSettings(Set.of(), Set.of("/run/jnvdocker"), Set.of());
        var refused = assertThrows(RefusedException.class, () -> planner.plan(claimed(settings)));
        assertTrue(refused.getMessage().contains("/run/jnvdocker"), refused.getMessage());
    }

    /** A number that the mask has no bit for must not be another's. */
    @Test
    void maskOfGraphicsHasTheGpusThatItHasBitsFor() {
        List<Gpu> gpus =
                List.of(1, 63, 64, 65, 130).stream()
                        .map(minor -> new Gpu(minor, "GPU-" + minor, minor, "0000:07:00.0", "A"))
                        .toList();
        String profile = ContainerPlanner.eglProfile(gpus);
        assertTrue(profile.contains("\"EGLVisibleDGPUDevices\", 0x8000000000000002]"), profile);
    }

    private static ContainerPlanner.Container claimed(UserSettings settings) {
        VolumeMount claim = new VolumeMount("claim", "nvidia-docker", "/run/jnvdocker");
        return new ContainerPlanner.Container(
                ImageConfig.of(Map.of(), List.of()),
                new Allocation(Gpus.ALL, List.of(claim), Map.of("jnvdocker.claim", "1")),
                settings,
                DriverVersion.parse("535.104.05"),
                ContainerPlanner.Visible.UUIDS);
    }

    private void devices(String text) throws IOException {
        Files.createDirectories(root.resolve("proc"));
        Files.writeString(root.resolve("proc/devices"), text);
    }

    private static Map<String, String> paths(ContainerEdits edits) {
        Map<String, String> paths = new LinkedHashMap<>(edits.environment());
        paths.remove("NVIDIA_VISIBLE_DEVICES");
        return paths;
    }

    private Map<String, String> environment(String... image) throws Exception {
        return paths(
                planner.plan(container(List.of(), NOTHING, ContainerPlanner.Visible.UUIDS, image)));
    }

    private ContainerEdits plan(List<Gpu> gpus, UserSettings settings) throws Exception {
        return planner.plan(container(gpus, settings, ContainerPlanner.Visible.UUIDS));
    }

    private static ContainerPlanner.Container container(
            List<Gpu> gpus,
            UserSettings settings,
            ContainerPlanner.Visible visible,
            String... image) {
        return new ContainerPlanner.Container(
                ImageConfig.of(Map.of(), List.of(image)),
                new Allocation(gpus, List.of(), Map.of()),
                settings,
                DriverVersion.parse("535.104.05"),
                visible);
    }

    private static List<String> names(List<DeviceNode> devices) {
        return devices.stream().map(DeviceNode::name).toList();
    }
}
