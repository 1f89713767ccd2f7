package jnvdocker.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The description is complete, and leaves nothing open. */
class OpenApiTest {
    @Test
    void everyPathHasASummaryAndSaysWhatIsAnswered() throws IOException {
        JsonNode paths = OpenApi.read().path("paths");
        for (String path : OpenApi.paths()) {
            JsonNode page = paths.path(path);
            assertEquals(1, page.size(), path);
            JsonNode get = page.path("get");
            assertFalse(get.path("summary").asText().isEmpty(), path);
            assertEquals(1, get.path("responses").path("200").path("content").size(), path);
        }
    }

    @Test
    void everyPathOfNvidiaDockerIsThereWithBothPrefixes() throws IOException {
        List<String> paths = OpenApi.paths();
        for (String path : List.of("/gpu/info/json", "/gpu/status/json", "/mesos/cli")) {
            assertTrue(paths.contains(path) && paths.contains("/v1.0" + path), path);
        }
    }

    @Test
    void everyKeyIsAlwaysThereAndNoOther() throws IOException {
        for (JsonNode object : OpenApi.read().path("components").findParents("properties")) {
            List<String> keys = new ArrayList<>();
            object.path("properties").fieldNames().forEachRemaining(keys::add);
            List<String> required = new ArrayList<>();
            object.path("required").forEach(key -> required.add(key.asText()));
            assertEquals(keys, required);
            assertEquals("false", object.path("additionalProperties").toString(), keys::toString);
        }
    }

    @Test
    void whatIsNotAsItSaysIsSeen() {
        String version = "{\"Version\":{\"Driver\":\"535.1\",\"CUDA\":null},\"Devices\":";
        OpenApi.checkData("Info", version + "[]}");
        for (String bad : List.of("{}", version + "[{}]}", version + "[],\"New\":1}")) {
            assertThrows(AssertionError.class, () -> OpenApi.checkData("Info", bad), bad);
        }
        assertThrows(
                AssertionError.class,
                () -> OpenApi.check("/gpu/info/json", 404, "application/json", "{}"));
    }
}
