package jnvdocker.oci.install;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.container.CdiSpec;
import jnvdocker.words.RefusedException;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A file of the Container Device Interface, which is ours alone: {@code --device jnvdocker/gpu=0}
 * gives a container of any runtime a GPU, and a hook that leases it, or keeps the container from
 * starting. All that a file can say of a device is fixed: it names GPUs, and chooses none.
 */
final class CdiFile implements EngineSettings {
    static final String KIND = "jnvdocker/gpu";

    /** The kind of NVIDIA's toolkit, which users of podman know. */
    static final String NVIDIAS = "nvidia.com/gpu";

    /** By which our program knows what it is; the C program has it too. */
    private static final String HOOK = "jnvdocker-cdi-hook";

    private static final String HOOKS_FIRST_WORD = "/containerEdits/hooks/0/args/0";

    /** Longer than our program waits for the daemon and for its answer. */
    private static final int TIMEOUT_SECONDS = 60;

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
        CdiSpec spec = new CdiSpec(entry.name());
        for (CdiDevices.Device device : devices.gpus()) {
            spec.add(String.valueOf(device.gpu().index()), List.of(device.node()));
            if (device.gpu().hasUuid()) {
                spec.add(device.gpu().uuid(), List.of(device.node()));
            }
        }
        spec.add("all", devices.gpus().stream().map(CdiDevices.Device::node).toList());
        ObjectNode edits = spec.addToEach(devices.control(), devices.driver());
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
        return spec.text();
    }

    /** Whether a file offers NVIDIA's devices, and is not ours. */
    static boolean isNvidias(String text) {
        return text.contains(NVIDIAS) && parse(text).isEmpty();
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
        return CdiSpec.driver(text, KIND).or(() -> CdiSpec.driver(text, NVIDIAS));
    }

    /** Empty if it is not a file of ours. */
    private static Optional<JsonNode> parse(String text) {
        return CdiSpec.parse(text, KIND)
                .or(() ->
                        CdiSpec.parse(text, NVIDIAS)
                                .filter(root -> root.at(HOOKS_FIRST_WORD).asText("").equals(HOOK)));
    }
}
