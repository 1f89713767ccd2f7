package jnvdocker.docker.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

class ClippedStringsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Wherever a long string is cut off, it is between two characters, as Go writes them. */
    @ParameterizedTest
    @ValueSource(strings = {"a", "é", "\\u00e9", "\\\\", "\\\"", "😀"})
    void longStringsOfListsAreCutOff(String character) throws IOException {
        for (int before = 0; before < 12; before++) {
            String json =
                    "[{\"id\":\"%s%s\",\"%s\":1},\"%s\"]"
                            .formatted(
                                    "x".repeat(before),
                                    character.repeat(5000),
                                    character.repeat(5000),
                                    character.repeat(300));
            byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
            JsonNode list = JSON.readTree(new ClippedStrings(new ByteArrayInputStream(bytes)));
            JsonNode whole = JSON.readTree(json);
            String id = list.get(0).get("id").textValue();
            assertTrue(whole.get(0).get("id").textValue().startsWith(id));
            assertTrue(id.length() < 4100 && id.length() > 600, id);
            assertEquals(2, list.get(0).size());
            assertEquals(whole.get(1), list.get(1));
        }
    }
}
