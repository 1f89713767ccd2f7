package jnvdocker.volume.plugin;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.labels.Mutations;
import jnvdocker.posix.ProcessId;

import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Every request has an answer that dockerd understands, and none reaches beyond its volumes. */
class VolumePluginFuzzTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ProcessId DOCKERD = new ProcessId(1, 1);
    private static final List<String> VERBS =
            List.of("Create", "Get", "Mount", "Path", "Unmount", "Remove", "List");

    private final TestingVolumes volumes = new TestingVolumes();
    private final VolumePlugin plugin = new VolumePlugin(List.of(volumes));

    @Property(tries = 4_000, seed = "5")
    void everyRequestIsAnswered(@ForAll("requests") byte[] request) throws IOException {
        for (String verb : VERBS) {
            String text = plugin.answer("VolumeDriver." + verb, request, DOCKERD).orElseThrow();
            JsonNode answer = JSON.readTree(text);
            assertTrue(answer.get("Err").isTextual(), text);
            assertFalse(text.contains("internal error"), text);
            assertFalse(text.contains("Exception"), text);
        }
    }

    @Provide
    Arbitrary<byte[]> requests() {
        return Mutations.of(
                List.of(
                        bytes("{\"Name\": \"test_1.2\", \"Opts\": {\"a\": \"b\"}}"),
                        bytes("{\"Name\": \"test_535.104.05\", \"ID\": \"0123456789abcdef\"}"),
                        bytes("{\"Name\": \"nvidia_driver_535.104.05\", \"Opts\": null}")));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
