package jnvdocker.labels;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.MissingNode;

import jnvdocker.json.ForeignJson;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The labels and the environment of an image, in the image's order. Of a variable that is named
 * twice the later value counts; one without {@code =} is empty.
 */
public record ImageConfig(Map<String, String> labels, Map<String, String> environment) {
    private static final int MOST = 1 << 20;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    public ImageConfig {
        labels = Collections.unmodifiableMap(new LinkedHashMap<>(labels));
        environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
    }

    /**
     * @param labels null for none
     * @param env entries {@code NAME=VALUE}; null for none
     */
    public static ImageConfig of(Map<String, String> labels, List<String> env) {
        Map<String, String> environment = new LinkedHashMap<>();
        for (String entry : env == null ? List.<String>of() : env) {
            int equals = entry.indexOf('=');
            String name = equals < 0 ? entry : entry.substring(0, equals);
            environment.put(name, equals < 0 ? "" : entry.substring(equals + 1));
        }
        return new ImageConfig(labels == null ? Map.of() : labels, environment);
    }

    /**
     * Reads what {@code docker image inspect --format '{{json .Config}}'} prints.
     *
     * @throws BadImageException when that is not such an object, or longer than 1 MiB
     */
    public static ImageConfig parse(String json) throws BadImageException {
        JsonNode config = tree(json);
        if (!config.isObject() && !config.isNull()) {
            throw malformed("it is not a JSON object", null);
        }
        return of(labels(config.path("Labels")), env(config.path("Env")));
    }

    private static JsonNode tree(String json) throws BadImageException {
        try {
            JsonNode root = ForeignJson.tree(JSON, json, MOST, ImageConfig::isRead);
            return root == null ? MissingNode.getInstance() : root;
        } catch (ForeignJson.TooLongException e) {
            throw new BadImageException(
                    "image configuration cannot be read: " + e.getMessage(),
                    "build the image with fewer labels and variables",
                    e);
        } catch (JsonProcessingException e) {
            JsonLocation at = e.getLocation();
            String where =
                    at == null
                            ? ""
                            : " (line " + at.getLineNr() + ", column " + at.getColumnNr() + ")";
            throw malformed("it is not JSON" + where, e);
        } catch (IOException e) {
            throw new UncheckedIOException("a text is read without I/O", e);
        }
    }

    private static boolean isRead(String parent, String member) {
        return parent != null || member.equals("Labels") || member.equals("Env");
    }

    private static Map<String, String> labels(JsonNode node) throws BadImageException {
        if (!node.isObject() && !absent(node)) {
            throw malformed("its Labels are not an object", null);
        }
        Map<String, String> labels = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> label : node.properties()) {
            labels.put(label.getKey(), text(label.getValue(), "a label"));
        }
        return labels;
    }

    private static List<String> env(JsonNode node) throws BadImageException {
        if (!node.isArray() && !absent(node)) {
            throw malformed("its Env is not a list", null);
        }
        List<String> env = new ArrayList<>();
        for (JsonNode entry : node) {
            env.add(text(entry, "an entry of its Env"));
        }
        return env;
    }

    private static String text(JsonNode node, String what) throws BadImageException {
        if (!node.isTextual() && !node.isNull()) {
            throw malformed(what + " is not text", null);
        }
        return node.isNull() ? "" : node.textValue();
    }

    private static boolean absent(JsonNode node) {
        return node.isMissingNode() || node.isNull();
    }

    private static BadImageException malformed(String reason, Exception cause) {
        return new BadImageException(
                "image configuration cannot be read: " + reason,
                "inspect it with docker image inspect",
                cause);
    }
}
