package jnvdocker.container;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.host.DeviceNode;
import jnvdocker.request.GpuRequest;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The text of a file of the Container Device Interface of ours: devices of one kind, and what every
 * container with one of them gets.
 *
 * @see <a href="https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md">the
 *     specification</a>
 */
public final class CdiSpec {
    /** The first that knows a node's place on the host, and names that begin with a digit. */
    private static final String VERSION = "0.5.0";

    private static final JsonMapper MAPPER = JsonMapper.builder().build();

    private final ObjectNode root = MAPPER.createObjectNode();
    private final ArrayNode devices;

    /**
     * @param kind of its devices, before {@code =} and the name of one
     */
    public CdiSpec(String kind) {
        root.put("cdiVersion", VERSION).put("kind", kind);
        devices = root.putArray("devices");
    }

    /** Adds a device. */
    public void add(String name, List<DeviceNode> nodes) {
        add(devices.addObject().put("name", name).putObject("containerEdits"), nodes);
    }

    private static void add(ObjectNode edits, List<DeviceNode> nodes) {
        ArrayNode list = edits.putArray("deviceNodes");
        for (DeviceNode node : nodes) {
            list.addObject().put("path", node.name()).put("hostPath", node.hostPath().toString());
        }
    }

    /**
     * Adds what every container gets.
     *
     * @param control nodes
     * @param driver the directory of the driver's files
     * @return where more of it can be added
     */
    public ObjectNode addToEach(List<DeviceNode> control, Path driver) {
        ObjectNode edits = root.putObject("containerEdits");
        // Without it, NVIDIA's runtime adds every GPU for an image that says all.
        edits.putArray("env").add(GpuRequest.VISIBLE_DEVICES + "=" + GpuRequest.VOID);
        add(edits, control);
        edits.putArray("mounts")
                .addObject()
                .put("hostPath", driver.toString())
                .put("containerPath", ContainerPlanner.DRIVER_DIRECTORY)
                .putArray("options")
                .add("ro")
                .add("nosuid")
                .add("nodev")
                .add("rbind")
                .add("rprivate");
        return edits;
    }

    public String text() {
        return root.toPrettyString() + "\n";
    }

    /** Reads a text; empty if it is not of that kind. */
    public static Optional<JsonNode> parse(String text, String kind) {
        try {
            return Optional.ofNullable(MAPPER.readTree(text))
                    .filter(root -> root.path("kind").asText("").equals(kind));
        } catch (JsonProcessingException e) {
            return Optional.empty();
        }
    }

    /** The directory in which a text has the driver; empty if it is not of that kind. */
    public static Optional<Path> driver(String text, String kind) {
        return parse(text, kind)
                .map(root -> root.at("/containerEdits/mounts/0/hostPath").asText(""))
                .filter(path -> path.startsWith("/"))
                .map(Path::of);
    }
}
