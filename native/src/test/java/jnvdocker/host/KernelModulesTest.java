package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

class KernelModulesTest {
    @TempDir Path directory;

    private Host host;

    @BeforeEach
    void makeHostWithoutUvm() throws IOException {
        Files.createDirectories(directory.resolve("proc"));
        Files.createDirectories(directory.resolve("dev"));
        Files.writeString(directory.resolve("proc/devices"), "Character devices:\n195 nvidia\n");
        host = Host.at(directory);
    }

    private KernelModules modprobe(String script) throws IOException {
        Path program =
                Files.writeString(directory.resolve("modprobe"), "#!/bin/sh\n" + script + "\n");
        assertTrue(program.toFile().setExecutable(true));
        return new KernelModules(List.of(directory.resolve("absent"), program));
    }

    @Test
    @Tag("root")
    void missingUvmIsLoadedAndItsNodesAreMade() throws IOException {
        KernelModules modules =
                modprobe(
                        "[ \"$1\" = nvidia-uvm ] && echo '510 nvidia-uvm' >> "
                                + directory
                                + "/proc/devices");
        List<DeviceNode> control = new DeviceNodes(host, modules).control();
        assertEquals(
                List.of("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"),
                control.stream().map(DeviceNode::name).toList());
        assertTrue(Files.exists(directory.resolve("dev/nvidia-uvm-tools")));
    }

    @Test
    void driverThatIsNotLoadedIs() throws IOException {
        Files.createDirectories(directory.resolve("sys/module/nvidia"));
        Path version = directory.resolve("sys/module/nvidia/version");
        KernelModules modules = modprobe("[ \"$1\" = nvidia ] && echo 535.104.05 > " + version);
        new DeviceNodes(host, modules).loadDriver();
        assertEquals("535.104.05", HostDriver.readVersion(host).toString());
    }

    @Test
    void driverThatIsLoadedIsNotLoadedAgain() throws IOException {
        Files.createDirectories(directory.resolve("sys/module/nvidia"));
        Files.writeString(directory.resolve("sys/module/nvidia/version"), "535.104.05\n");
        KernelModules modules = modprobe("exit 1");
        assertDoesNotThrow(() -> new DeviceNodes(host, modules).loadDriver());
    }

    @Test
    void driverThatCannotBeLoadedIsNone() throws IOException {
        KernelModules modules = modprobe("echo 'FATAL: Module not found' >&2; exit 1");
        var refusal =
                assertThrows(
                        NoDriverException.class, () -> new DeviceNodes(host, modules).loadDriver());
        assertEquals(
                "no NVIDIA driver is loaded, and none can be (FATAL: Module not found); install the"
                        + " driver for this kernel",
                refusal.getMessage());
    }

    @Test
    void reasonOfModprobeIsPassedOn() throws IOException {
        KernelModules modules = modprobe("echo 'FATAL: Module not found' >&2; exit 1");
        IOException refusal = assertThrows(IOException.class, () -> modules.load("nvidia-uvm"));
        assertEquals("FATAL: Module not found", refusal.getMessage());
    }

    @Test
    void environmentOfTheDaemonDoesNotReachModprobe() throws IOException {
        KernelModules modules = modprobe("[ -z \"$HOME$LD_PRELOAD$MODPROBE_OPTIONS\" ]");
        assertDoesNotThrow(() -> modules.load("nvidia-uvm"));
    }

    @Test
    void directoryThatIsNotThisMachineHasNoKernel() {
        assertThrows(IOException.class, () -> KernelModules.of(host).load("nvidia-uvm"));
    }
}
