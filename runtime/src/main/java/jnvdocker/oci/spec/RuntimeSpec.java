package jnvdocker.oci.spec;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.use.DeviceRule;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.math.BigInteger;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A container's {@code config.json}, as the OCI runtime specification has it. What we don't know in
 * it stays as it is.
 */
public final class RuntimeSpec {
    /** The driver's other nodes have the GPUs' major, and these minors or higher ones. */
    private static final int FIRST_OF_OTHERS = 254;

    /** By which containerd, and CRI-O and podman, say what kind of container it is. */
    private static final List<String> SANDBOXES =
            List.of("io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType");

    /** By which containerd says of which pod it is. */
    private static final String POD = "io.kubernetes.cri.sandbox-";

    /** CRI-O's cgroups, as its two drivers name them; no annotation of a pod changes them. */
    private static final Pattern CRIO_CGROUP = Pattern.compile("(.*[/:])?crio[-:][0-9a-f]{64}");

    /** Which CRI-O sets to {@code k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT}. */
    private static final String CRIO_NAME = "io.kubernetes.cri-o.Name";

    /** The node of a GPU, as the driver names it. */
    private static final Pattern GPU_NODE = Pattern.compile(".*/nvidia([0-9]{1,3})");

    /** The limit in bytes: Linux starts no program with more than 2 MiB of variables. */
    public static final int MOST = 2 << 20;

    /**
     * The memory of objects, for each byte of their text. There are two of each: docker's files
     * have the same variables, mounts and devices.
     */
    private static final long MEMORY = 10;

    private final ObjectNode root;

    private RuntimeSpec(ObjectNode root) {
        this.root = root;
    }

    /** The memory in bytes of all that is made of a text of the engine's. */
    public static long memory(String json) {
        return MEMORY * Math.min(json.length(), MOST);
    }

    /**
     * @throws RefusedException when it is not a JSON object, is longer than 2 MiB, or names a
     *     device by numbers that none has
     */
    public static RuntimeSpec parse(String json) throws RefusedException {
        RuntimeSpec spec = new RuntimeSpec(SpecJson.object(json, "config.json", MOST));
        for (JsonNode device : spec.root.path("linux").path("devices")) {
            if (!DeviceRule.isPossible(number(device, "major"), number(device, "minor"))) {
                throw DeviceRule.impossible("device " + Quote.quoted(device.path("path").asText()));
            }
        }
        for (JsonNode rule : spec.rules()) {
            if (rule(rule).filter(DeviceRule.IMPOSSIBLE::equals).isPresent()) {
                throw DeviceRule.impossible("device rule " + Quote.quoted(words(rule)));
            }
        }
        return spec;
    }

    /**
     * Drafts what docker will write of a container's variables, own files, named nodes of GPUs and
     * privileges.
     *
     * @param directory docker's directory for it
     * @param known {@code config.v2.json}
     * @param settings {@code hostconfig.json}
     */
    static String draft(Path directory, String known, String settings, int gpuMajor)
            throws RefusedException {
        JsonNode config = DockerContainer.known(known).path("Config");
        JsonNode host = DockerContainer.settings(settings);
        ObjectNode draft = JsonNodeFactory.instance.objectNode();
        SpecJson.objectIn(draft, "process").set("env", config.path("Env"));
        SpecJson.listIn(draft, "mounts")
                .addObject()
                .put("source", directory.resolve("hostname").toString())
                .put("destination", "/etc/hostname");
        ObjectNode linux = SpecJson.objectIn(draft, "linux");
        for (JsonNode device : host.path("Devices")) {
            Matcher node = GPU_NODE.matcher(device.path("PathOnHost").asText(""));
            if (node.matches()) {
                SpecJson.listIn(linux, "devices")
                        .addObject()
                        .put("path", device.path("PathInContainer").asText(node.group()))
                        .put("type", "c")
                        .put("major", gpuMajor)
                        .put("minor", Integer.parseInt(node.group(1)));
            }
        }
        if (host.path("Privileged").asBoolean(false)) {
            SpecJson.listIn(SpecJson.objectIn(linux, "resources"), "devices")
                    .addObject()
                    .put("allow", true)
                    .put("access", "rwm");
        }
        return SpecJson.text(draft);
    }

    /** For edits. */
    ObjectNode root() {
        return root;
    }

    /** The directory of the host that becomes its root; empty when none is named. */
    public String rootPath() {
        return root.path("root").path("path").asText("");
    }

    /** The variables of its first process; of a name that comes twice the last, as runc has it. */
    public Map<String, String> environment() {
        return SpecJson.environment(root.path("process").path("env"));
    }

    public Map<String, String> annotations() {
        return SpecJson.map(root.path("annotations"));
    }

    /**
     * Whether it only keeps the namespaces of a pod of Kubernetes: the pod's annotations are on it,
     * too, and concern the pod's containers.
     */
    public boolean isSandbox() {
        Map<String, String> annotations = annotations();
        return SANDBOXES.stream().map(annotations::get).anyMatch("sandbox"::equals);
    }

    /** Whether it is CRI-O's, which has the same monitors as podman. */
    public boolean isOfCrio() {
        return cgroupsPath().filter(path -> CRIO_CGROUP.matcher(path).matches()).isPresent();
    }

    /**
     * The pod of Kubernetes that it is a container of, as containerd or CRI-O reports it.
     *
     * @param uid as Kubernetes has it
     */
    public record Pod(String uid, String namespace, String name) {}

    /** Its pod; empty for anything but a container in a pod of containerd's or CRI-O's. */
    public Optional<Pod> pod() {
        return isOfCrio() ? podOfCrio() : podOfContainerd();
    }

    /**
     * CRI-O has all annotations of a pod on its containers, and its own take their places. No part
     * of the name has an underscore.
     */
    private Optional<Pod> podOfCrio() {
        Map<String, String> annotations = annotations();
        String[] name = annotations.getOrDefault(CRIO_NAME, "").split("_", -1);
        return name.length == 6 && "container".equals(annotations.get(SANDBOXES.getLast()))
                ? Optional.of(new Pod(name[4], name[3], name[2]))
                : Optional.empty();
    }

    private Optional<Pod> podOfContainerd() {
        Map<String, String> annotations = annotations();
        String uid = annotations.getOrDefault(POD + "uid", "");
        return uid.isEmpty() || !"container".equals(annotations.get(SANDBOXES.getFirst()))
                ? Optional.empty()
                : Optional.of(
                        new Pod(
                                uid,
                                annotations.getOrDefault(POD + "namespace", "?"),
                                annotations.getOrDefault(POD + "name", "?")));
    }

    /** The path of the container's cgroup as the engine requests it, for the real runtime. */
    public Optional<String> cgroupsPath() {
        return Optional.ofNullable(root.path("linux").path("cgroupsPath").textValue());
    }

    /** Whether its runtime has systemd make its cgroup: {@code SLICE:PREFIX:NAME}. */
    boolean isInSystemdsCgroup() {
        return cgroupsPath().filter(path -> path.matches("[^/:]*:[^/:]*:[^/:]+")).isPresent();
    }

    /** A mount of something of the host. */
    public record BindMount(String source, String destination) {}

    public List<BindMount> binds() {
        List<BindMount> binds = new ArrayList<>();
        for (JsonNode mount : root.path("mounts")) {
            String source = mount.path("source").asText("");
            if (source.startsWith("/")) {
                binds.add(new BindMount(source, mount.path("destination").asText("")));
            }
        }
        return binds;
    }

    /** The targets of mounts, in the shortest spelling. */
    public Set<String> mountTargets() {
        Set<String> targets = new TreeSet<>();
        for (JsonNode mount : root.path("mounts")) {
            targets.add(normal(mount.path("destination").asText("")));
        }
        return targets;
    }

    static String normal(String path) {
        try {
            return Path.of("/").resolve(path).normalize().toString();
        } catch (InvalidPathException e) {
            return path;
        }
    }

    /** Whether a rule lets devices of every driver be opened: as good as privileges. */
    public boolean allowsAllDevices() {
        for (JsonNode rule : rules()) {
            if (rule(rule).filter(DeviceRule::isOfAnyMajor).isPresent()) {
                return true;
            }
        }
        return false;
    }

    private JsonNode rules() {
        return root.path("linux").path("resources").path("devices");
    }

    /** The devices that a rule opens; empty if it opens none. */
    static Optional<DeviceRule> rule(JsonNode rule) {
        return rule.path("allow").asBoolean(false)
                ? DeviceRule.of(
                        rule.path("type").asText(""),
                        number(rule, "major"),
                        number(rule, "minor"),
                        rule.path("access").asText(""))
                : Optional.empty();
    }

    /** As docker takes it. */
    private static String words(JsonNode rule) {
        return rule.path("type").asText("a")
                + " "
                + number(rule, "major")
                + ":"
                + number(rule, "minor")
                + " "
                + rule.path("access").asText("");
    }

    private static BigInteger number(JsonNode deviceOrRule, String name) {
        JsonNode number = deviceOrRule.path(name);
        return number.isIntegralNumber() ? number.bigIntegerValue() : DeviceRule.NO_NUMBER;
    }

    static boolean isOfCharacters(JsonNode device) {
        String type = device.path("type").asText("");
        return type.isEmpty() || type.equals("a") || type.equals("c") || type.equals("u");
    }

    /**
     * The GPUs that the container is given: by a node, whatever it is called, or a rule.
     *
     * @param present the minors of those that the host has, which a rule without a minor means
     */
    public Set<Integer> gpuMinors(int major, Set<Integer> present) {
        Set<Integer> minors = minors(major, present);
        minors.removeIf(minor -> minor >= FIRST_OF_OTHERS);
        return minors;
    }

    /**
     * The devices of a major that the container is given: by a node, whatever it is called, or a
     * rule.
     *
     * @param present the minors that a rule without a minor means
     */
    public Set<Integer> minors(int major, Set<Integer> present) {
        Set<Integer> minors = new TreeSet<>();
        for (JsonNode device : root.path("linux").path("devices")) {
            if (isOfCharacters(device) && device.path("major").asLong(-1) == major) {
                minors.add(device.path("minor").asInt(FIRST_OF_OTHERS));
            }
        }
        for (JsonNode each : rules()) {
            Optional<DeviceRule> rule = rule(each).filter(it -> it.major() == major);
            if (rule.filter(it -> it.minor() == DeviceRule.ANY).isPresent()) {
                minors.addAll(present);
            } else {
                rule.ifPresent(it -> minors.add(it.minor()));
            }
        }
        return minors;
    }

    /**
     * The GPUs of which it is given a node under one of these paths, or in a directory of that
     * name.
     */
    Set<Integer> gpuMinorsAt(int major, Set<String> paths) {
        Set<Integer> minors = new TreeSet<>();
        for (JsonNode device : root.path("linux").path("devices")) {
            String path = normal(device.path("path").asText(""));
            boolean there =
                    paths.stream().anyMatch(it -> path.equals(it) || path.startsWith(it + "/"));
            if (there && isOfCharacters(device) && device.path("major").asLong(-1) == major) {
                minors.add(device.path("minor").asInt(FIRST_OF_OTHERS));
            }
        }
        minors.removeIf(minor -> minor >= FIRST_OF_OTHERS);
        return minors;
    }

    /** Whether the container has parts of the driver, or of other software that gives GPUs. */
    public boolean hasNvidia(Majors majors) {
        return allowsAllDevices()
                || !environment()
                        .getOrDefault(SpecEdits.VISIBLE, SpecEdits.VOID)
                        .equals(SpecEdits.VOID)
                || NvidiaParts.areIn(this, majors)
                || GraphicsNodes.areIn(this, majors);
    }

    /** As JSON. */
    @Override
    public String toString() {
        return SpecJson.text(root);
    }
}
