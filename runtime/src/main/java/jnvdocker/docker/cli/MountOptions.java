package jnvdocker.docker.cli;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.lease.ClaimNames;
import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;

/** The options that mount a container's volumes and directories into another one. */
final class MountOptions {
    private static final String DRIVER_VOLUME = "nvidia_driver_";

    /** Settings of a mount, each with the field of {@code --mount} that takes the same value. */
    private static final Map<String, String> FIELDS =
            Map.of(
                    "Consistency", "consistency",
                    "BindOptions.NonRecursive", "bind-nonrecursive",
                    "BindOptions.Propagation", "bind-propagation",
                    "ImageOptions.Subpath", "image-subpath",
                    "TmpfsOptions.SizeBytes", "tmpfs-size",
                    "VolumeOptions.NoCopy", "volume-nocopy",
                    "VolumeOptions.Subpath", "volume-subpath");

    private static final Set<String> OF_ALL_MOUNTS = Set.of("Type", "Source", "Target", "ReadOnly");

    private final JsonNode container;
    private final BiConsumer<String, String> options;
    private final Set<String> targets = new HashSet<>();

    /**
     * @param options receives the name and the value of each
     */
    MountOptions(JsonNode container, BiConsumer<String, String> options) {
        this.container = container;
        this.options = options;
    }

    /** Notes that another option mounts something there. */
    void covers(String target) {
        targets.add(target);
    }

    void addBinds(JsonNode binds) {
        for (JsonNode bind : binds) {
            String[] parts = bind.asText().split(":", 3);
            if (!isOurs(parts[0])) {
                targets.add(parts.length > 1 ? parts[1] : parts[0]);
                options.accept("volume", bind.asText());
            }
        }
    }

    void addMount(JsonNode mount) throws RefusedException {
        String target = mount.path("Target").asText();
        String source = mount.path("Source").asText();
        if (isOurs(source)) {
            return;
        }
        List<String> fields = new ArrayList<>();
        String type = mount.path("Type").asText();
        fields.add("type=" + type);
        fields.add("dst=" + target);
        if (source.isEmpty() && type.equals("volume")) {
            source = volumeAt(target);
        }
        if (!source.isEmpty()) {
            fields.add("src=" + source);
        }
        if (mount.path("ReadOnly").asBoolean()) {
            fields.add("readonly");
        }
        for (var part : mount.properties()) {
            String name = part.getKey();
            if (part.getValue().isObject()) {
                for (var setting : part.getValue().properties()) {
                    addField(fields, name + "." + setting.getKey(), setting.getValue());
                }
            } else if (!OF_ALL_MOUNTS.contains(name)) {
                addField(fields, name, part.getValue());
            }
        }
        targets.add(target);
        options.accept("mount", String.join(",", fields.stream().map(MountOptions::csv).toList()));
    }

    private static void addField(List<String> fields, String setting, JsonNode value)
            throws RefusedException {
        if (ContainerOptions.isUnset(value)) {
            return;
        }
        switch (setting) {
            case "TmpfsOptions.Mode" ->
                    fields.add("tmpfs-mode=" + Integer.toOctalString(value.asInt()));
            case "VolumeOptions.Labels" ->
                    value.properties().forEach(it -> fields.add(pair("volume-label", it)));
            case "VolumeOptions.DriverConfig" -> {
                if (!ContainerOptions.isUnset(value.path("Name"))) {
                    fields.add("volume-driver=" + value.path("Name").asText());
                }
                value.path("Options")
                        .properties()
                        .forEach(it -> fields.add(pair("volume-opt", it)));
            }
            default -> {
                if (!FIELDS.containsKey(setting)) {
                    throw ContainerOptions.unknown("HostConfig.Mounts." + setting, value);
                }
                fields.add(FIELDS.get(setting) + "=" + value.asText());
            }
        }
    }

    private static String pair(String key, Map.Entry<String, JsonNode> value) {
        return key + "=" + value.getKey() + "=" + value.getValue().asText();
    }

    private static String csv(String field) {
        boolean plain = field.chars().noneMatch(it -> it == ',' || it == '"' || it == '\n');
        return plain ? field : '"' + field.replace("\"", "\"\"") + '"';
    }

    /** Volumes without a name of their user's, which the image or {@code -v /data} made. */
    void addAnonymousVolumes() {
        for (JsonNode mount : container.path("Mounts")) {
            String target = mount.path("Destination").asText();
            String name = mount.path("Name").asText();
            if (mount.path("Type").asText().equals("volume")
                    && !isOurs(name)
                    && !targets.contains(target)) {
                options.accept(
                        "volume",
                        name + ":" + target + (mount.path("RW").asBoolean() ? "" : ":ro"));
            }
        }
    }

    private String volumeAt(String target) {
        for (JsonNode mount : container.path("Mounts")) {
            if (mount.path("Destination").asText().equals(target)) {
                return mount.path("Name").asText();
            }
        }
        return "";
    }

    private static boolean isOurs(String volume) {
        return ClaimNames.ofVolume(volume).isPresent() || volume.startsWith(DRIVER_VOLUME);
    }
}
