package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

@Attack(
        by = "a broken host",
        what = "a GPU never opens, vanishes, appears or is renumbered while a client waits",
        result = "opened once; each choice reads them again, and the place is kept")
class GpuInventoryTest {
    private static final String UNKNOWN = "GPU-????????-????-????-????-????????????";
    private static final String KNOWN = "GPU-5c1a0000-1d2c-4e5f-8a9b-012345678900";

    @TempDir Path root;

    @Test
    @Tag("root")
    void gpuThatDoesNotOpenStaysWithoutUuid() throws IOException {
        host(UNKNOWN, "195");
        assertEquals(UNKNOWN, inventory().read().gpus().getFirst().uuid());
        assertTrue(Files.exists(root.resolve("dev/nvidia3")), "its node was made to be opened");
    }

    @Test
    @Tag("root")
    void gpuThatOpensIsQueriedAgain() throws IOException {
        host(UNKNOWN, "1"); // 1:3 is /dev/null, which opens
        assertEquals(UNKNOWN, inventory().read().gpus().getFirst().uuid());
    }

    /** A later read does not wait for a broken GPU either. */
    @Test
    @Tag("root")
    void gpuIsOpenedOnceByAChild() throws IOException {
        host(UNKNOWN, "195");
        Path opened = root.resolve("opened");
        GpuInventory inventory = inventory("echo \"$@\" >> " + opened, Duration.ofMinutes(1));
        for (int i = 0; i < 3; i++) {
            assertEquals(UNKNOWN, inventory.read().gpus().getFirst().uuid());
        }
        assertEquals(List.of(root.resolve("dev/nvidia3").toString()), Files.readAllLines(opened));
        // The driver was reloaded meanwhile.
        host(KNOWN, "195");
        inventory.read();
        host(UNKNOWN, "195");
        inventory.read();
        assertEquals(2, Files.readAllLines(opened).size());
    }

    @Test
    @Tag("root")
    void gpuThatHangsWhenItIsOpenedIsGivenUp() throws IOException {
        host(UNKNOWN, "195");
        Path pids = root.resolve("pids");
        GpuInventory inventory =
                inventory("echo $$ >> " + pids + "; exec sleep 1000", Duration.ofSeconds(3));
        for (int i = 0; i < 3; i++) {
            assertEquals(UNKNOWN, inventory.read().gpus().getFirst().uuid());
        }
        List<String> started = Files.readAllLines(pids);
        assertEquals(1, started.size());
        ProcessHandle.of(Long.parseLong(started.getFirst()))
                .ifPresent(child -> child.onExit().join());
    }

    @Test
    void gpuWithUuidIsLeftAlone() throws IOException {
        host(KNOWN, "195");
        assertEquals(KNOWN, inventory().read().gpus().getFirst().uuid());
        assertTrue(Files.notExists(root.resolve("dev/nvidia3")));
    }

    private GpuInventory inventory() throws IOException {
        Host host = Host.at(root);
        return new GpuInventory(host, new DeviceNodes(host));
    }

    private GpuInventory inventory(String script, Duration limit) throws IOException {
        Host host = Host.at(root);
        List<String> program = List.of("/bin/sh", "-c", script, "sh");
        DeviceNodes nodes = new DeviceNodes(host);
        return new GpuInventory(host, nodes, new GpuWaker(nodes, program, limit));
    }

    private void host(String uuid, String major) throws IOException {
        Path gpu = root.resolve("proc/driver/nvidia/gpus/0000:07:00.0");
        Files.createDirectories(gpu);
        Files.createDirectories(root.resolve("dev"));
        Files.writeString(gpu.resolve("information"), TestingProc.information(uuid, 3));
        Files.writeString(
                root.resolve("proc/devices"),
                "Character devices:\n" + major + " nvidia\n510 nvidia-uvm\n");
        Files.writeString(
                root.resolve("proc/driver/nvidia/version"),
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n");
    }
}
