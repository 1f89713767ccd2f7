package jnvdocker.oci.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.host.DeviceNode;
import jnvdocker.host.Gpu;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

class CdiFileTest {
    private static final Path FILE = Path.of("/etc/cdi/jnvdocker.json");
    private static final Path PROGRAM = Path.of("/opt/rt/nvidia-container-runtime");
    private static final Registration OURS =
            new Registration(
                    EngineKind.CDI, FILE, CdiFile.KIND, PROGRAM.getParent(), Optional.empty());
    private static final CdiDevices DEVICES =
            new CdiDevices(
                    List.of(device(0, "GPU-5c1a1000"), device(1, "GPU-????????")),
                    List.of(node("/dev/nvidiactl", 255)),
                    Path.of("/run/jnvdocker/volumes/nvidia_driver/535.1"));

    private final CdiFile file = new CdiFile();

    private static CdiDevices.Device device(int index, String uuid) {
        return new CdiDevices.Device(
                new Gpu(index, uuid, index, "0000:0" + index + ":00.0", "A100"),
                node("/dev/nvidia" + index, index));
    }

    private static DeviceNode node(String name, int minor) {
        return new DeviceNode(name, Path.of("/host" + name), 195, minor);
    }

    private static EngineSettings.Entry entry(boolean standard, List<String> resources) {
        return new EngineSettings.Entry(
                FILE,
                CdiFile.KIND,
                PROGRAM,
                standard,
                resources,
                Optional.of(DEVICES),
                new EngineSettings.Part(FILE, ""),
                List.of());
    }

    @Test
    void deviceIsAGpuByItsIndexAndItsUuidOrAllOfThem() throws Exception {
        JsonNode root = new ObjectMapper().readTree(file.with("", entry(false, List.of())));
        assertEquals(List.of("0", "GPU-5c1a1000", "1", "all"), root.findValuesAsText("name"));
        assertEquals(
                List.of("/host/dev/nvidia0", "/host/dev/nvidia1"),
                root.at("/devices/3").findValuesAsText("hostPath"));
        JsonNode edits = root.path("containerEdits");
        assertEquals("/dev/nvidiactl", edits.at("/deviceNodes/0/path").asText());
        assertEquals(DEVICES.driver().toString(), edits.at("/mounts/0/hostPath").asText());
        assertEquals("ro", edits.at("/mounts/0/options/0").asText());
        assertEquals("createRuntime", edits.at("/hooks/0/hookName").asText());
        assertEquals("jnvdocker-cdi-hook", edits.at("/hooks/0/args/0").asText());
    }

    @Test
    void itIsFoundAndRemovedWholeAndReplaced() throws Exception {
        String text = file.with("", entry(false, List.of()));
        assertEquals(
                Optional.of(new EngineSettings.Found(PROGRAM, false)),
                file.find(text, FILE, CdiFile.KIND));
        assertEquals(text, file.with(text, entry(false, List.of())));
        assertEquals(Optional.empty(), file.without(text, OURS));
    }

    @Test
    void driverStaysWhereTheEngineSeesItUntilItIsAnother() throws Exception {
        Path copy = Path.of("/var/lib/jnvdocker/volumes/nvidia_driver_copy/535.1");
        assertEquals(copy, DEVICES.keeping(Optional.of(copy)).driver());
        Path older = copy.resolveSibling("470.1");
        assertEquals(DEVICES, DEVICES.keeping(Optional.of(older)));
        String text = file.with("", entry(false, List.of()));
        assertEquals(Optional.of(DEVICES.driver()), CdiFile.driver(text));
        assertEquals(Optional.empty(), CdiFile.driver(""));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "[]", "{\"kind\": \"nvidia.com/gpu\"}", "kind: jnvdocker/gpu"})
    void foreignFileStays(String theirs) {
        RefusedException e =
                assertThrows(
                        RefusedException.class, () -> file.with(theirs, entry(false, List.of())));
        assertTrue(e.getMessage().startsWith(FILE + " is not jnvdocker's; "), e.getMessage());
        assertEquals(Optional.of(theirs), file.without(theirs, OURS));
        assertEquals(Optional.empty(), file.find(theirs, FILE, CdiFile.KIND));
    }

    @Test
    void itHasNoDefaultAndNoSwarm() {
        for (var entry : List.of(entry(true, List.of()), entry(false, List.of("NVIDIA-GPU=x")))) {
            RefusedException e = assertThrows(RefusedException.class, () -> file.with("", entry));
            assertTrue(e.getMessage().endsWith("leave --default and --swarm out"), e.getMessage());
        }
    }
}
