package jnvdocker.rest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Map;
import java.util.Set;

/**
 * The document of {@code gpu ls} without what concerns the holders. It lists the keys that stay, so
 * that a new one does not name anybody by mistake.
 */
final class Nameless {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final Set<String> KEPT =
            Set.of(
                    "index",
                    "instance",
                    "uuid",
                    "parent",
                    "model",
                    "node",
                    "pci_address",
                    "state",
                    "idle_since",
                    "lease",
                    "since",
                    "due",
                    "overdue",
                    "figures",
                    "idle");

    private Nameless() {}

    static String of(String gpus) {
        try {
            JsonNode document = JSON.readTree(gpus);
            for (JsonNode gpu : document) {
                ObjectNode keys = (ObjectNode) gpu;
                for (Map.Entry<String, JsonNode> each : keys.properties()) {
                    if (!KEPT.contains(each.getKey())) {
                        boolean list = each.getValue().isArray();
                        each.setValue(list ? JSON.createArrayNode() : JSON.nullNode());
                    }
                }
            }
            return JSON.writeValueAsString(document);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("our own document is JSON", e);
        }
    }
}
