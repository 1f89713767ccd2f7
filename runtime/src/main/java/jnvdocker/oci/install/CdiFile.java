package jnvdocker.oci.install;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.container.ContainerPlanner;
import jnvdocker.host.DeviceNode;
import jnvdocker.words.RefusedException;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A file of the Container Device Interface, which is ours alone: {@code --device jnvdocker/gpu=0}
 * gives a container of any runtime a GPU, and a hook that leases it, or keeps the container from
 * starting. All that a file can say of a device is fixed: it names GPUs, and chooses none.
 *
 * @see <a href="https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md">the
 *     specification</a>
 */
final class CdiFile implements EngineSettings {
    static final String KIND = "jnvdocker/gpu";

    /** By which our program knows what it is; the C program has it too. */
    private static final String HOOK = "jnvdocker-cdi-hook";

    /** The first that knows a node's place on the host, and names that begin with a digit. */
    private static final String VERSION = "0.5.0";

    /** Longer than our program waits for the daemon. */
    private static final int TIMEOUT_SECONDS = 30;

    private static final JsonMapper MAPPER = JsonMapper.builder().build();

    @Override
    public String with(String text, Entry entry) throws RefusedException {
        if (!text.isBlank() && parse(text).isEmpty()) {
            throw new RefusedException(
                    entry.file() + " is not jnvdocker's",
                    "name a file of its own with --config, such as " + EngineKind.CDI.config());
        }
        if (entry.standard() || !entry.resources().isEmpty()) {
            throw new RefusedException(
                    "CDI devices have neither a default nor a Swarm",
                    "leave --default and --swarm out");
        }
        CdiDevices devices = entry.devices().orElseThrow();
        ObjectNode root = MAPPER.createObjectNode();
        root.put("cdiVersion", VERSION).put("kind", KIND);
        ArrayNode list = root.putArray("devices");
        for (CdiDevices.Device device : devices.gpus()) {
            add(list, String.valueOf(device.gpu().index()), List.of(device.node()));
            if (device.gpu().hasUuid()) {
                add(list, device.gpu().uuid(), List.of(device.node()));
            }
        }
        add(list, "all", devices.gpus().stream().map(CdiDevices.Device::node).toList());
        ObjectNode edits = root.putObject("containerEdits");
        edits.putArray("env").add("NVIDIA_VISIBLE_DEVICES=void");
        add(edits, devices.control());
        edits.putArray("mounts")
                .addObject()
                .put("hostPath", devices.driver().toString())
                .put("containerPath", ContainerPlanner.DRIVER_FOLDER)
                .putArray("options")
                .add("ro")
                .add("nosuid")
                .add("nodev")
                .add("rbind")
                .add("rprivate");
        ArrayNode hooks = edits.putArray("hooks");
        for (String stage : List.of("createRuntime", "poststop")) {
            hooks.addObject()
                    .put("hookName", stage)
                    .put("path", entry.program().toString())
                    .put("timeout", TIMEOUT_SECONDS)
                    .putArray("args")
                    .add(HOOK)
                    .add(stage);
        }
        return root.toPrettyString() + "\n";
    }

    private static void add(ArrayNode devices, String name, List<DeviceNode> nodes) {
        add(devices.addObject().put("name", name).putObject("containerEdits"), nodes);
    }

    private static void add(ObjectNode edits, List<DeviceNode> nodes) {
        ArrayNode list = edits.putArray("deviceNodes");
        for (DeviceNode node : nodes) {
            list.addObject().put("path", node.name()).put("hostPath", node.hostPath().toString());
        }
    }

    @Override
    public Optional<String> without(String text, Registration registration) {
        return parse(text).isPresent() ? Optional.empty() : Optional.of(text);
    }

    @Override
    public Optional<Found> find(String text, Path file, String name) {
        return parse(text)
                .map(root ->
                        root.path("containerEdits").path("hooks").path(0).path("path").asText(""))
                .filter(path -> path.startsWith("/"))
                .map(path -> new Found(Path.of(path), false));
    }

    /** Where a file of ours has the driver: an engine that does not see our mounts has a copy. */
    static Optional<Path> driver(String text) {
        return parse(text)
                .map(root ->
                        root.path("containerEdits")
                                .path("mounts")
                                .path(0)
                                .path("hostPath")
                                .asText(""))
                .filter(path -> path.startsWith("/"))
                .map(Path::of);
    }

    /** Empty if it is not a file of ours. */
    private static Optional<JsonNode> parse(String text) {
        try {
            return Optional.ofNullable(MAPPER.readTree(text))
                    .filter(root -> root.path("kind").asText("").equals(KIND));
        } catch (JsonProcessingException e) {
            return Optional.empty();
        }
    }
}
