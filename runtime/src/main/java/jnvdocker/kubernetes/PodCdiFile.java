package jnvdocker.kubernetes;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.container.ContainerPlanner;
import jnvdocker.host.DeviceNode;
import jnvdocker.posix.WholeFile;
import jnvdocker.program.TrustedFolder;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The file of the Container Device Interface for pods: a device for each UUID. It has no hook that
 * takes a lease, since pods have theirs before a runtime sees them.
 *
 * @see <a href="https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md">the
 *     specification</a>
 */
final class PodCdiFile {
    private static final String NAME = "jnvdocker-pods.json";

    /** The kind of its devices, before {@code =} and the name of one. */
    private static final String KIND = "pod.jnvdocker/gpu";

    /** The first that knows a node's place on the host. */
    private static final String VERSION = "0.5.0";

    private static final Pattern DEVICE = Pattern.compile("[A-Za-z]([A-Za-z0-9_.:-]*[A-Za-z0-9])?");
    private static final int MODE = 0644;
    private static final int LIMIT = 1 << 20;
    private static final JsonMapper MAPPER = JsonMapper.builder().build();

    private final Path file;
    private final Path driver;

    /**
     * @param folder where runtimes look for such files; need not exist yet
     * @param driver the path of the driver's files, whatever the driver
     */
    PodCdiFile(Path folder, Path driver) {
        this.file = folder.resolve(NAME);
        this.driver = driver;
    }

    /** The path of the file. */
    Path path() {
        return file;
    }

    /** Whether a GPU of this UUID can be a device: those of early MIG instances have slashes. */
    static boolean isDevice(String uuid) {
        return DEVICE.matcher(uuid).matches();
    }

    /** The full name of a device. */
    static String device(String uuid) {
        return KIND + "=" + uuid;
    }

    /**
     * Writes the file, unless it is as it should be.
     *
     * @param control nodes that each container with GPUs has
     * @param gpus the nodes of each GPU, by UUID
     * @return whether it was written
     * @throws RefusedException when it is another jnvdocker's, or others than root could change it
     */
    boolean write(List<DeviceNode> control, Map<String, List<DeviceNode>> gpus)
            throws RefusedException, IOException {
        Optional<String> before = read();
        String after = text(control, gpus);
        if (before.equals(Optional.of(after))) {
            return false;
        }
        if (before.filter(this::isAnothers).isPresent()) {
            throw new RefusedException(
                    file + " belongs to another jnvdocker, or to another program",
                    "set JNVDOCKER_CDI_DIR for one of them, or remove the file");
        }
        TrustedFolder.check(file.getParent());
        Files.createDirectories(file.getParent());
        WholeFile.write(file, after.getBytes(StandardCharsets.UTF_8), WholeFile.Access.root(MODE));
        return true;
    }

    /** Removes the file if it is ours. */
    boolean remove() throws IOException {
        Optional<String> text = read();
        if (text.isEmpty() || !driverIn(text.get()).equals(Optional.of(driver))) {
            return false;
        }
        WholeFile.delete(file);
        return true;
    }

    private String text(List<DeviceNode> control, Map<String, List<DeviceNode>> gpus) {
        ObjectNode root = MAPPER.createObjectNode();
        root.put("cdiVersion", VERSION).put("kind", KIND);
        ArrayNode devices = root.putArray("devices");
        gpus.forEach((uuid, nodes) ->
                add(devices.addObject().put("name", uuid).putObject("containerEdits"), nodes));
        ObjectNode edits = root.putObject("containerEdits");
        // Else NVIDIA's runtime adds every GPU for an image that says all.
        edits.putArray("env").add(GpuRequest.VISIBLE_DEVICES + "=" + PodInjection.VOID);
        add(edits, control);
        edits.putArray("mounts")
                .addObject()
                .put("hostPath", driver.toString())
                .put("containerPath", ContainerPlanner.DRIVER_FOLDER)
                .putArray("options")
                .add("ro")
                .add("nosuid")
                .add("nodev")
                .add("rbind")
                .add("rprivate");
        return root.toPrettyString() + "\n";
    }

    private static void add(ObjectNode edits, List<DeviceNode> nodes) {
        ArrayNode list = edits.putArray("deviceNodes");
        for (DeviceNode node : nodes) {
            list.addObject().put("path", node.name()).put("hostPath", node.hostPath().toString());
        }
    }

    private Optional<String> read() throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return Optional.of(new String(in.readNBytes(LIMIT), StandardCharsets.UTF_8));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** One of a jnvdocker that has gone may be replaced: nothing is where it has the driver. */
    private boolean isAnothers(String text) {
        Optional<Path> others = driverIn(text);
        return others.isEmpty()
                || !others.get().equals(driver)
                        && Files.exists(others.get(), LinkOption.NOFOLLOW_LINKS);
    }

    /** Where a file of this kind has the driver; empty if it is another kind's. */
    private static Optional<Path> driverIn(String text) {
        try {
            return Optional.ofNullable(MAPPER.readTree(text))
                    .filter(root -> root.path("kind").asText("").equals(KIND))
                    .map(root -> root.at("/containerEdits/mounts/0/hostPath"))
                    .map(JsonNode::textValue)
                    .filter(path -> path.startsWith("/"))
                    .map(Path::of);
        } catch (JsonProcessingException e) {
            return Optional.empty();
        }
    }
}
