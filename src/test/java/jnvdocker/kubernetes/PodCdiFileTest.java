package jnvdocker.kubernetes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.host.DeviceNode;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Writes the file as root, which is necessary. */
@Tag("root")
class PodCdiFileTest {
    private static final List<DeviceNode> CONTROL = List.of(node("/dev/nvidiactl", 255));
    private static final Map<String, List<DeviceNode>> GPUS =
            new TreeMap<>(
                    Map.of(
                            "GPU-5c1a1000-0",
                            List.of(node("/dev/nvidia0", 0)),
                            "MIG-5c1a1001-1",
                            List.of(
                                    node("/dev/nvidia1", 1),
                                    node("/dev/nvidia-caps/nvidia-cap3", 3))));

    @TempDir Path directory;
    private Path driver;
    private PodCdiFile cdi;

    @BeforeEach
    void makeDirectory() throws IOException {
        driver = Files.createDirectory(directory.resolve("run")).resolve("driver");
        cdi = new PodCdiFile(directory.resolve("cdi"), driver);
    }

    private static DeviceNode node(String name, int minor) {
        return new DeviceNode(name, Path.of("/host" + name), 195, minor);
    }

    @Test
    void deviceIsAUuidWithItsNodesAndNothingRunsForIt() throws Exception {
        assertTrue(cdi.write(CONTROL, GPUS));
        assertFalse(cdi.write(CONTROL, GPUS));
        JsonNode root = new ObjectMapper().readTree(cdi.path().toFile());
        assertEquals("pod.jnvdocker/gpu", root.path("kind").asText());
        assertEquals(List.copyOf(GPUS.keySet()), root.path("devices").findValuesAsText("name"));
        assertEquals(
                List.of("/host/dev/nvidia1", "/host/dev/nvidia-caps/nvidia-cap3"),
                root.at("/devices/1").findValuesAsText("hostPath"));
        JsonNode edits = root.path("containerEdits");
        assertEquals("[\"NVIDIA_VISIBLE_DEVICES=void\"]", edits.path("env").toString());
        assertEquals(driver.toString(), edits.at("/mounts/0/hostPath").asText());
        assertEquals("/usr/local/nvidia", edits.at("/mounts/0/containerPath").asText());
        assertEquals("ro", edits.at("/mounts/0/options/0").asText());
        assertTrue(root.findValues("hooks").isEmpty(), root::toPrettyString);
    }

    @Test
    void fileOfAnotherIsLeftAlone() throws Exception {
        Path others = Files.createDirectory(directory.resolve("other"));
        Files.createFile(others.resolve("driver"));
        PodCdiFile another = new PodCdiFile(directory.resolve("cdi"), others.resolve("driver"));
        another.write(CONTROL, GPUS);
        RefusedException e = assertThrows(RefusedException.class, () -> cdi.write(CONTROL, GPUS));
        assertEquals(
                cdi.path()
                        + " belongs to another jnvdocker, or to another program; set"
                        + " JNVDOCKER_CDI_DIR for one of them, or remove the file",
                e.getMessage());
        assertFalse(cdi.remove());
        // It is gone, and has left its file behind.
        Files.delete(others.resolve("driver"));
        assertTrue(cdi.write(CONTROL, GPUS));
        assertFalse(another.remove());
        assertTrue(cdi.remove());
        assertFalse(Files.exists(cdi.path()));
        Files.writeString(cdi.path(), "{\"kind\": \"vendor.com/gpu\"}");
        assertThrows(RefusedException.class, () -> cdi.write(CONTROL, GPUS));
        assertFalse(cdi.remove());
    }

    @Test
    void uuidOfAnEarlyInstanceIsNoName() {
        assertTrue(PodCdiFile.isDevice("GPU-5c1a1000-a1b2"));
        assertTrue(PodCdiFile.isDevice("MIG-5c1a1001-a1b2"));
        assertFalse(PodCdiFile.isDevice("MIG-GPU-5c1a1001/1/0"));
        assertFalse(PodCdiFile.isDevice("GPU-????????"));
        assertFalse(PodCdiFile.isDevice("?"));
    }
}
