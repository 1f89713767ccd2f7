package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import jnvdocker.attack.Attack;
import jnvdocker.posix.Posix;
import jnvdocker.posix.ThreadCapabilities;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

@Attack(
        by = "a member",
        what = "a directory with more than 20,000 files as `--device`",
        result = "the search ends, and the run is refused")
class DeviceNodesTest {
    /** From a host with driver 550, shortened; the block device is a decoy. */
    private static final String DEVICES =
            """
            Character devices:
              1 mem
              4 /dev/vc/0
              4 tty
              5 /dev/tty
            195 nvidia
            195 nvidia-modeset
            195 nvidiactl
            234 nvidia-nvswitch
            510 nvidia-uvm
            511 nvidia-caps

            Block devices:
              7 loop
            259 blkext
            77 nvidia-uvm
            """;

    private static final Gpu GPU =
            new Gpu(0, "GPU-5c1a1003-1d2c", 3, "0000:07:00.0", "NVIDIA A100-SXM4-40GB");

    @TempDir Path root;
    private TestingProc proc;
    private DeviceNodes nodes;

    @Test
    @Tag("root")
    void gpusOfAPathAreThoseItsNodesAreOf() throws IOException {
        Path dev = Files.createDirectories(root.resolve("dev/char")).getParent();
        Posix.mknod(dev.resolve("nvidia0"), 0600, 195, 0);
        Posix.mknod(dev.resolve("nvidia3"), 0600, 195, 3);
        Posix.mknod(dev.resolve("nvidia4"), 0600, 10, 4);
        Posix.mknod(dev.resolve("gpu"), 0600, 195, 5);
        Files.writeString(dev.resolve("nvidia6"), "no node");
        Path link = Files.createSymbolicLink(dev.resolve("char/195:3"), Path.of("../nvidia3"));
        Posix.mknod(dev.resolve("nvidiactl"), 0600, 195, 255);
        Posix.mknod(Files.createDirectory(dev.resolve("my")).resolve("x"), 0600, 195, 9);
        assertEquals(Set.of(3), given(dev.resolve("nvidia3")));
        assertEquals(Set.of(3), given(link));
        assertEquals(Set.of(5), given(dev.resolve("gpu")));
        assertEquals(Set.of(), given(dev.resolve("nvidia4")));
        assertEquals(Set.of(), given(dev.resolve("nvidia6")));
        assertEquals(Set.of(7), given(dev.resolve("nvidia7")));
        assertEquals(Set.of(), given(dev.resolve("nvidia-uvm")));
        assertEquals(Set.of(), given(dev.resolve("nvidiactl")));
        assertEquals(Set.of(), given(dev.resolve("char")));
        assertEquals(Set.of(9), given(dev.resolve("my")));
        assertEquals(Set.of(0, 3, 5, 9), given(dev));
        assertEquals(Set.of(0, 3, 5, 9), given(root));
        assertEquals(Set.of(0, 3, 5), nodes.seen(dev).minors());
        assertEquals(Set.of(0, 3, 5), nodes.seen(root).minors());
    }

    private Set<Integer> given(Path path) throws IOException {
        DeviceNodes.Reached reached = nodes.given(path);
        assertTrue(reached.complete());
        return reached.minors();
    }

    /** Nodes on top are found, however many files are below. */
    @Test
    void directoryWithTooManyEntriesIsNotSearched() throws IOException {
        assumeTrue(Posix.effectiveUser() == 0, "only root makes device nodes");
        Path dev = proc.path("/dev");
        Posix.mknod(dev.resolve("gpu"), 0600, 195, 5);
        Path below = Files.createDirectory(dev.resolve("below"));
        for (int i = 0; i <= NodeSearch.MOST_FILES; i++) {
            Files.createFile(below.resolve("" + i));
        }
        assertEquals(new DeviceNodes.Reached(Set.of(5), true, false), nodes.given(dev));
    }

    /** As udev makes them for other drivers' devices. */
    @Test
    @Tag("root")
    void nodesHaveLinksByTheirNumbers() throws IOException {
        Path dev = proc.path("/dev");
        nodes.link();
        assertFalse(Files.exists(dev.resolve("char")));
        nodes.of(GPU);
        nodes.control();
        Posix.mknod(dev.resolve("nvidia1"), 0600, 195, 1);
        Posix.mknod(dev.resolve("nvidia2"), 0600, 195, 2);
        Files.writeString(dev.resolve("nvidia4"), "no node");
        Path dangling = Files.createSymbolicLink(dev.resolve("char/195:1"), Path.of("../old"));
        Path another = Files.createSymbolicLink(dev.resolve("char/195:2"), dev.resolve("nvidia2"));
        assertEquals(
                List.of("/dev/nvidia1"), nodes.unlinked().stream().map(DeviceNode::name).toList());
        nodes.link();
        assertEquals(List.of(), nodes.unlinked());
        assertEquals(Path.of("../nvidia1"), Files.readSymbolicLink(dangling));
        assertEquals(dev.resolve("nvidia2"), Files.readSymbolicLink(another));
        assertEquals(
                Set.of("195:1", "195:2", "195:3", "195:255", "510:0", "510:1"),
                Set.of(dev.resolve("char").toFile().list()));
        for (DeviceNode node : nodes.control()) {
            Path link = dev.resolve("char/" + node.major() + ":" + node.minor());
            assertEquals(node.hostPath().toRealPath(), link.toRealPath());
        }
    }

    /** As on a host whose /dev is read-only. */
    @Test
    @Tag("root")
    void nodeThatCanHaveNoLinkIsGivenAllTheSame() throws IOException {
        Files.writeString(proc.path("/dev").resolve("char"), "no directory");
        assertEquals("/dev/nvidia3", nodes.of(GPU).name());
        nodes.link();
        assertEquals(1, nodes.unlinked().size());
    }

    @BeforeEach
    void makeHost() throws IOException {
        proc = new TestingProc(root);
        Files.createDirectory(proc.path("/dev"));
        proc.file("/proc/devices", DEVICES);
        nodes = new DeviceNodes(proc.host());
    }

    @Test
    @Tag("root")
    void instanceHasTheNodesOfItsCapabilitiesBesides() throws IOException {
        Part part = new Part(GPU.uuid(), 0, 2, 0, 21, 22, Optional.empty());
        Gpu instance =
                new Gpu(
                        0,
                        "MIG-22d5a1c4",
                        3,
                        "0000:07:00.0",
                        "A100",
                        Optional.empty(),
                        Optional.of(part));
        List<DeviceNode> all = nodes.allOf(instance);
        assertEquals(
                List.of(
                        "/dev/nvidia3 195:3",
                        "/dev/nvidia-caps/nvidia-cap21 511:21",
                        "/dev/nvidia-caps/nvidia-cap22 511:22"),
                all.stream()
                        .map(node -> node.name() + " " + node.major() + ":" + node.minor())
                        .toList());
        Path made = proc.path("/dev/nvidia-caps/nvidia-cap22");
        assertEquals(
                PosixFilePermissions.fromString("r--r--r--"), Files.getPosixFilePermissions(made));
        assertEquals(made.toRealPath(), proc.path("/dev/char/511:22").toRealPath());
        assertEquals(List.of(all.getFirst()), nodes.allOf(GPU));
    }

    @Test
    void majorsAreThoseOfCharacterDevices() {
        var majors = DeviceMajors.parse(DEVICES);
        assertEquals(195, majors.get("nvidia"));
        assertEquals(195, majors.get("nvidiactl"));
        assertEquals(510, majors.get("nvidia-uvm"));
        assertEquals(4, majors.get("tty"));
        assertFalse(majors.containsKey("loop"));
    }

    @Test
    void majorsOfOlderDriversHaveTheFrontend() {
        var majors =
                DeviceMajors.parse(
                        "Character devices:\n195 nvidia-frontend\n508 nvidia-uvm\n\n"
                                + "Block devices:\n  8 sd\n");
        assertEquals(195, majors.get("nvidia-frontend"));
        assertEquals(508, majors.get("nvidia-uvm"));
    }

    @ParameterizedTest
    @CsvSource({
        "''",
        "195 nvidia",
        "'Block devices:\n195 nvidia'",
        "'Character devices:\n99999 nvidia'",
        "'Character devices:\nx nvidia\n195\n-1 nvidia\n195 nvidia x'",
    })
    void otherTextHasNoMajors(String text) {
        assertEquals(0, DeviceMajors.parse(text).size());
    }

    @Test
    void parametersAreDecimal() {
        assertEquals(
                new NodeParameters(true, 0, 44, 0660),
                NodeParameters.parse(
                        """
                        ResmanDebugLevel: 4294967295
                        RmLogonRC: 1
                        ModifyDeviceFiles: 1
                        DeviceFileUID: 0
                        DeviceFileGID: 44
                        DeviceFileMode: 432
                        RegistryDwords: ""
                        RmNvlinkBandwidth: "a: 1"
                        """));
    }

    @Test
    void parametersThatAreNotThereAreTheDriversOwn() {
        assertEquals(NodeParameters.DEFAULT, NodeParameters.parse(""));
        assertEquals(
                NodeParameters.DEFAULT,
                NodeParameters.parse("DeviceFileMode: rw\nDeviceFileUID\n"));
    }

    @Test
    void modeHasNoSpecialBits() {
        assertEquals(0777, NodeParameters.parse("DeviceFileMode: 4095").mode());
    }

    @Test
    void nodeIsCalledByItsMinor() {
        assertEquals("/dev/nvidia3", DeviceNodes.nameOf(GPU));
    }

    @Test
    void withoutTheDriverThereAreNoNodes() throws IOException {
        proc.file("/proc/devices", "Character devices:\n  1 mem\n");
        var error = assertThrows(NoDriverException.class, () -> nodes.of(GPU));
        assertTrue(error.getMessage().contains("modprobe nvidia"), error.toString());
    }

    @Test
    @Tag("root")
    void withoutTheUvmModuleItIsNamed() throws IOException {
        proc.file("/proc/devices", "Character devices:\n195 nvidia-frontend\n");
        var error = assertThrows(NoDriverException.class, nodes::control);
        assertTrue(error.getMessage().contains("modprobe nvidia-uvm"), error.toString());
    }

    @Test
    @Tag("root")
    void nodeOfTheModesetModuleIsMadeWhereThatIsLoaded() throws IOException {
        DeviceNode node = nodes.modeset().orElseThrow();
        assertEquals("/dev/nvidia-modeset", node.name());
        assertEquals(Posix.device(195, 254), attribute(node, "rdev"));

        proc.file("/proc/devices", "Character devices:\n194 nvidia-frontend\n");
        assertEquals(Optional.empty(), nodes.modeset());
        proc.file("/sys/module/nvidia_modeset/refcnt", "0\n");
        assertThrows(IOException.class, nodes::modeset);
        Files.delete(proc.path("/dev/nvidia-modeset"));
        assertEquals(Posix.device(194, 254), attribute(nodes.modeset().orElseThrow(), "rdev"));
    }

    @Test
    void whatIsNoDeviceIsRefused() throws IOException {
        proc.file("/dev/nvidia3", "");
        assertWrongDevice();
    }

    @Test
    @Tag("root")
    void missingNodeIsTheAdministratorsWhereRootMayMakeNone() throws IOException {
        assertTrue(isMade());
        boolean[] made = {true};
        ThreadCapabilities.withoutMknod(() -> made[0] = isMade());
        assertFalse(made[0]);
    }

    private boolean isMade() throws IOException {
        return nodes.faults(List.of(GPU)).stream()
                .filter(fault -> fault.path().endsWith("nvidia3"))
                .allMatch(DeviceNodes.Fault::made);
    }

    @Test
    void missingNodeIsTheAdministratorsWhereTheDriverSaysSo() throws IOException {
        proc.file("/proc/driver/nvidia/params", "ModifyDeviceFiles: 0\n");
        var error = assertThrows(IOException.class, () -> nodes.of(GPU));
        String command = "mknod " + proc.host().resolve("/dev/nvidia3") + " c 195 3";
        assertTrue(error.getMessage().contains("ModifyDeviceFiles=0"), error.toString());
        assertTrue(error.getMessage().endsWith(command), error.toString());
        assertFalse(Files.exists(proc.path("/dev/nvidia3")));
    }

    @Test
    void directoryThatCannotHaveTheNodeIsNamed() throws IOException {
        Files.delete(proc.path("/dev"));
        var error = assertThrows(IOException.class, () -> nodes.of(GPU));
        assertTrue(error.getMessage().startsWith("cannot make the missing"), error.toString());
        assertTrue(error.getMessage().contains("/dev/nvidia3 c 195 3"), error.toString());
    }

    @Test
    @Tag("root")
    void missingNodeIsMadeAsTheDriverWantsIt() throws IOException {
        proc.file(
                "/proc/driver/nvidia/params",
                "ModifyDeviceFiles: 1\nDeviceFileUID: 12\nDeviceFileGID: 44\n"
                        + "DeviceFileMode: 432\n");
        DeviceNode node = nodes.of(GPU);
        assertEquals("/dev/nvidia3", node.name());
        assertEquals(Posix.device(195, 3), attribute(node, "rdev"));
        assertEquals(12, attribute(node, "uid"));
        assertEquals(44, attribute(node, "gid"));
        assertEquals(
                PosixFilePermissions.fromString("rw-rw----"),
                Files.getPosixFilePermissions(node.hostPath()));
    }

    @Test
    @Tag("root")
    void missingNodeIsForEverybodyWhereTheDriverSaysNothing() throws IOException {
        assertEquals(
                PosixFilePermissions.fromString("rw-rw-rw-"),
                Files.getPosixFilePermissions(nodes.of(GPU).hostPath()));
    }

    @Test
    @Tag("root")
    void controlNodesComeInOrder() throws IOException {
        List<DeviceNode> control = nodes.control();
        assertEquals(
                List.of("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"),
                control.stream().map(DeviceNode::name).toList());
        assertEquals(Posix.device(195, 255), attribute(control.get(0), "rdev"));
        assertEquals(Posix.device(510, 0), attribute(control.get(1), "rdev"));
        assertEquals(Posix.device(510, 1), attribute(control.get(2), "rdev"));
    }

    @Test
    @Tag("root")
    void nodeThatIsThereIsLeftAsItIs() throws IOException {
        Path path = proc.path("/dev/nvidia3");
        Posix.mknod(path, 0600, 195, 3);
        assertEquals(path.toRealPath(), nodes.of(GPU).hostPath());
        assertEquals(
                PosixFilePermissions.fromString("rw-------"), Files.getPosixFilePermissions(path));
    }

    @Test
    @Tag("root")
    void otherDeviceIsRefusedAndLeft() throws IOException {
        Posix.mknod(proc.path("/dev/nvidia3"), 0666, 1, 3);
        assertWrongDevice();
        assertTrue(Files.exists(proc.path("/dev/nvidia3")));
    }

    @Test
    @Tag("root")
    void linkIsFollowedBeneathTheRoot() throws IOException {
        Files.createDirectory(proc.path("/nodes"));
        Files.createSymbolicLink(proc.path("/dev/nvidia3"), Path.of("/nodes/gpu"));
        DeviceNode node = nodes.of(GPU);
        assertEquals("/dev/nvidia3", node.name());
        assertEquals(proc.path("/nodes/gpu").toRealPath(), node.hostPath());
    }

    @Test
    @Tag("root")
    void manyMayMakeTheSameNodeAtOnce() throws Exception {
        int threads = 8;
        CyclicBarrier start = new CyclicBarrier(threads);
        Callable<DeviceNode> make =
                () -> {
                    start.await();
                    return nodes.of(GPU);
                };
        try (var pool = Executors.newFixedThreadPool(threads)) {
            for (int round = 0; round < 20; round++) {
                for (Future<DeviceNode> made : pool.invokeAll(Collections.nCopies(threads, make))) {
                    assertEquals(Posix.device(195, 3), attribute(made.get(), "rdev"));
                }
                Files.delete(proc.path("/dev/nvidia3"));
            }
        }
    }

    @Test
    @Tag("root")
    void blockDeviceOfTheSameNumbersIsRefused() throws Exception {
        String node = proc.path("/dev/nvidia3").toString();
        Process mknod = new ProcessBuilder("mknod", node, "b", "195", "3").inheritIO().start();
        assertEquals(0, mknod.waitFor());
        assertWrongDevice();
    }

    private void assertWrongDevice() {
        var error = assertThrows(IOException.class, () -> nodes.of(GPU));
        assertTrue(error.getMessage().contains("/dev/nvidia3 is not the"), error.toString());
        assertTrue(error.getMessage().contains("195:3"), error.toString());
        assertTrue(error.getMessage().contains("remove it"), error.toString());
    }

    private static Object attribute(DeviceNode node, String name) throws IOException {
        return Files.getAttribute(node.hostPath(), "unix:" + name);
    }
}
