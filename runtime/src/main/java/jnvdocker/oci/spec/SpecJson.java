package jnvdocker.oci.spec;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.json.ForeignJson;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The engines' JSON, of which any part may be missing or null, and numbers stay as they are. */
final class SpecJson {
    /** The limit of docker's files in bytes: a container may have any number of labels. */
    private static final int MOST = 8 << 20;

    private static final JsonMapper MAPPER =
            JsonMapper.builder()
                    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                    .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
                    .build();

    private SpecJson() {}

    /**
     * Reads an object whole.
     *
     * @param name of the file that it is from
     * @param most the limit in bytes
     */
    static ObjectNode object(String text, String name, int most) throws RefusedException {
        return object(name, () -> ForeignJson.tree(MAPPER, text, most));
    }

    /** Reads those members of an object that are needed. */
    static ObjectNode object(String text, String name, ForeignJson.Members members)
            throws RefusedException {
        return object(name, () -> ForeignJson.tree(MAPPER, text, MOST, members));
    }

    @FunctionalInterface
    private interface Reader {
        JsonNode read() throws IOException;
    }

    private static ObjectNode object(String name, Reader reader) throws RefusedException {
        try {
            if (reader.read() instanceof ObjectNode object) {
                return object;
            }
        } catch (ForeignJson.TooLongException e) {
            throw new RefusedException(
                    "the engine's " + name + " cannot be read: " + e.getMessage(),
                    "create the container again with fewer variables, mounts and devices");
        } catch (IOException e) {
            // Whatever it is instead.
        }
        throw malformed(name);
    }

    private static RefusedException malformed(String name) {
        return new RefusedException(
                "the engine's " + name + " is not a JSON object, so its GPU request is not known",
                "create the container again");
    }

    static String text(JsonNode tree) {
        try {
            return MAPPER.writeValueAsString(tree);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree is always JSON", e);
        }
    }

    /** The texts of a list; other elements are left out. */
    static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(each -> {
            if (each.isTextual()) {
                texts.add(each.textValue());
            }
        });
        return texts;
    }

    /** The texts of an object. */
    static Map<String, String> map(JsonNode object) {
        Map<String, String> map = new LinkedHashMap<>();
        object.properties()
                .forEach(each -> {
                    if (each.getValue().isTextual()) {
                        map.put(each.getKey(), each.getValue().textValue());
                    }
                });
        return map;
    }

    /**
     * Entries {@code NAME=VALUE}, of a name that comes twice the last, as runc has it; in the same
     * order as those of an image.
     */
    static Map<String, String> environment(JsonNode list) {
        Map<String, String> environment = new LinkedHashMap<>();
        for (String entry : texts(list)) {
            int equals = entry.indexOf('=');
            String name = equals < 0 ? entry : entry.substring(0, equals);
            environment.put(name, equals < 0 ? "" : entry.substring(equals + 1));
        }
        return environment;
    }

    static ObjectNode objectIn(ObjectNode parent, String name) {
        return parent.get(name) instanceof ObjectNode found ? found : parent.putObject(name);
    }

    static ArrayNode listIn(ObjectNode parent, String name) {
        return parent.get(name) instanceof ArrayNode found ? found : parent.putArray(name);
    }
}
