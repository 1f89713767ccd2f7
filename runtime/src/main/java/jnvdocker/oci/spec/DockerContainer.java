package jnvdocker.oci.spec;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.lease.text.ContainerLabels;
import jnvdocker.request.DeviceRequest;
import jnvdocker.words.RefusedException;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Docker's files about a container before it has it created: {@code config.v2.json} and {@code
 * hostconfig.json} in its data directory. Labels and variables of the image and of the user are one
 * there.
 *
 * @param imageName as its user typed it
 * @param imageId {@code sha256:} and 64 hexadecimal digits, unless it was tampered with
 * @param manifest the digest of its manifest, where containerd keeps the images
 * @param driver which keeps the images
 * @param dataRoot docker's data directory
 * @param environment in docker's order: its user's variables first, then those of the image that
 *     its user does not set
 * @param runtime the name of its runtime, which is the engine's default if its user named none
 * @param restarting whether a restart policy starts it
 * @param hasPolicy whether it has one
 * @param devices where in the container its user has devices put
 * @param rules of the device cgroup that its user gives it: {@code c 195:* rw}
 * @param mounted the user's mounts, by their place in the container
 * @param volumes those of them that are volumes
 */
public record DockerContainer(
        String name,
        String imageName,
        String imageId,
        Optional<String> manifest,
        String driver,
        Optional<Path> dataRoot,
        Map<String, String> labels,
        Map<String, String> environment,
        String runtime,
        boolean restarting,
        boolean hasPolicy,
        Set<String> devices,
        List<String> rules,
        Set<String> mounted,
        Map<String, Volume> volumes,
        List<DeviceRequest> requests) {
    private static final Pattern OWN_FILE =
            Pattern.compile(
                    "(?<root>/.+)/containers/(?<id>[^/]+)/(?:hosts|hostname|resolv\\.conf)");

    private static final Pattern ID = Pattern.compile("[0-9a-f]{64}");

    private static final Set<String> KNOWN =
            Set.of(
                    "Config",
                    "Driver",
                    "ID",
                    "Image",
                    "ImageManifest",
                    "MountPoints",
                    "Name",
                    "State");

    private static final Set<String> CONFIG = Set.of("Env", "Image", "Labels");

    private static final Set<String> SETTINGS =
            Set.of(
                    "Binds",
                    "DeviceCgroupRules",
                    "DeviceRequests",
                    "Devices",
                    "Privileged",
                    "RestartPolicy",
                    "Runtime");

    public DockerContainer {
        labels = Map.copyOf(labels);
        environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
        devices = Set.copyOf(devices);
        rules = List.copyOf(rules);
        mounted = Set.copyOf(mounted);
        volumes = Map.copyOf(volumes);
        requests = List.copyOf(requests);
    }

    /** A volume that docker mounts at each start of the container. */
    public record Volume(String driver, String name) {}

    /**
     * Empty for a container that is not docker's.
     *
     * @param container {@code config.v2.json}
     * @param host {@code hostconfig.json}
     */
    public static Optional<DockerContainer> parse(RuntimeSpec spec, String container, String host)
            throws RefusedException {
        if (container.isEmpty() && host.isEmpty()) {
            return Optional.empty();
        }
        ObjectNode known = known(container);
        ObjectNode settings = settings(host);
        JsonNode config = known.path("Config");
        String policy = settings.path("RestartPolicy").path("Name").asText("");
        String name = known.path("Name").asText("");
        String driver = known.path("Driver").asText("");
        return Optional.of(
                new DockerContainer(
                        name.startsWith("/") ? name.substring(1) : name,
                        config.path("Image").asText(""),
                        known.path("Image").asText(""),
                        Optional.ofNullable(known.path("ImageManifest").path("digest").textValue()),
                        driver,
                        dataRoot(spec, known.path("ID").asText(""))
                                .or(() -> dataRootOf(spec.rootPath(), driver)),
                        SpecJson.map(config.path("Labels")),
                        SpecJson.environment(config.path("Env")),
                        settings.path("Runtime").asText(""),
                        known.path("State").path("Restarting").asBoolean(false),
                        !policy.isEmpty() && !policy.equals("no"),
                        devices(settings),
                        SpecJson.texts(settings.path("DeviceCgroupRules")),
                        mounted(known, settings),
                        volumes(known),
                        requests(settings)));
    }

    /** Reads {@code config.v2.json}. */
    static ObjectNode known(String json) throws RefusedException {
        return SpecJson.object(
                json,
                "config.v2.json",
                (parent, member) ->
                        parent == null ? KNOWN.contains(member) : isOfConfig(parent, member));
    }

    /** Reads {@code hostconfig.json}. */
    static ObjectNode settings(String json) throws RefusedException {
        return SpecJson.object(
                json,
                "hostconfig.json",
                (parent, member) -> parent != null || SETTINGS.contains(member));
    }

    /** Whether a member of a configuration is read: its maker can give it any number of labels. */
    static boolean isOfConfig(String parent, String member) {
        return switch (parent) {
            case "Config", "config" -> CONFIG.contains(member);
            case "Labels" -> ContainerLabels.areRead(member);
            default -> true;
        };
    }

    /** Whether GPUs were put into it by CDI, which the engine has resolved. */
    public boolean hasCdi() {
        return requests.stream().anyMatch(DeviceRequest::isCdi);
    }

    private static Set<String> devices(JsonNode settings) {
        Set<String> paths = new LinkedHashSet<>();
        for (JsonNode device : settings.path("Devices")) {
            String path = device.path("PathInContainer").asText("");
            paths.add(
                    RuntimeSpec.normal(
                            path.isEmpty() ? device.path("PathOnHost").asText("") : path));
        }
        return paths;
    }

    /**
     * Docker's data directory, in which it has a directory for each container and mounts the
     * container's own files from there; with {@code --network container:OTHER} they are the other's
     * (native/oci/docker.c finds it in the same way). A user can mount a file of such a name, too,
     * so what is found in another's place counts only for its contents.
     */
    static Optional<Path> dataRoot(RuntimeSpec spec, String id) {
        return dataRoot(spec, id::equals).or(() -> dataRoot(spec, ID.asMatchPredicate()));
    }

    static boolean isId(String text) {
        return ID.matcher(text).matches();
    }

    private static Optional<Path> dataRoot(RuntimeSpec spec, Predicate<String> id) {
        return spec.binds().stream()
                .map(bind -> OWN_FILE.matcher(bind.source()))
                .filter(source -> source.matches() && id.test(source.group("id")))
                .flatMap(source -> path(source.group("root")).stream())
                .findFirst();
    }

    /**
     * The data root by a container's root directory, which is below one named after the driver: its
     * user may have mounted other files in place of docker's.
     */
    private static Optional<Path> dataRootOf(String root, String driver) {
        int end = root.indexOf("/" + driver + "/");
        return driver.isEmpty() || end < 0
                ? Optional.empty()
                : path(root.substring(0, end).replaceFirst("/rootfs$", ""));
    }

    private static Optional<Path> path(String text) {
        try {
            return Optional.of(Path.of(text));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    private static Set<String> mounted(JsonNode known, JsonNode settings) {
        Set<String> targets = new LinkedHashSet<>();
        known.path("MountPoints")
                .properties()
                .forEach(point -> targets.add(RuntimeSpec.normal(point.getKey())));
        for (String bind : SpecJson.texts(settings.path("Binds"))) {
            String[] parts = bind.split(":");
            if (parts.length > 1) {
                targets.add(RuntimeSpec.normal(parts[1]));
            }
        }
        return targets;
    }

    private static Map<String, Volume> volumes(JsonNode known) {
        Map<String, Volume> volumes = new HashMap<>();
        for (Map.Entry<String, JsonNode> point : known.path("MountPoints").properties()) {
            String driver = point.getValue().path("Driver").asText("");
            String name = point.getValue().path("Name").asText("");
            if (!driver.isEmpty()) {
                volumes.put(RuntimeSpec.normal(point.getKey()), new Volume(driver, name));
            }
        }
        return volumes;
    }

    /** The name of the volume of a driver at a place in the container. */
    Optional<String> volume(String place, String driver) {
        return Optional.ofNullable(volumes.get(place))
                .filter(volume -> volume.driver().equals(driver))
                .map(Volume::name);
    }

    private static List<DeviceRequest> requests(JsonNode settings) {
        List<DeviceRequest> requests = new ArrayList<>();
        for (JsonNode request : settings.path("DeviceRequests")) {
            JsonNode ids = request.path("DeviceIDs");
            List<List<String>> capabilities = new ArrayList<>();
            request.path("Capabilities").forEach(each -> capabilities.add(SpecJson.texts(each)));
            requests.add(
                    new DeviceRequest(
                            request.path("Driver").asText(""),
                            request.path("Count").asInt(0),
                            ids.isArray() ? Optional.of(SpecJson.texts(ids)) : Optional.empty(),
                            capabilities));
        }
        return requests;
    }
}
