package jnvdocker.oci.refuse;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.words.RefusedException;

import java.nio.file.Path;
import java.util.List;

/**
 * Turns the {@code config.json} of a container into one that says why its GPUs are refused, and
 * fails: a restart policy tries again after that, while it gives up on a container that the runtime
 * refused.
 *
 * <p>The container gets another root, which has our program alone, and nothing is mounted in it but
 * what a runtime needs for any container. So nothing of the image and of the user's mounts matters:
 * neither the target of its {@code /dev}, nor mounts there, and no file is left in the image's
 * upper layer. A bind mount into the container's own root would be at the mercy of both.
 *
 * <p>What limits a container stays: namespaces, user, cgroup, seccomp, AppArmor, SELinux, resource
 * limits. It has no device but those of every container, no capability and no hook.
 */
public final class RefusedProcess {
    /** One argument may have 128 KiB in Linux; a character has 4 bytes at most. */
    private static final int MOST_CHARACTERS = 16 << 10;

    private static final JsonMapper JSON =
            JsonMapper.builder()
                    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                    .build();

    private final ObjectNode config;

    private RefusedProcess(ObjectNode config) {
        this.config = config;
    }

    /**
     * @param configJson as the engine wrote it; {@code process.terminal} stays as it is
     * @param program our {@code jnvdocker-refused}, by its absolute path. The directory that it is
     *     in becomes the container's root: it has the directories {@code dev} and {@code proc},
     *     nothing else that matters to anybody, and every user may enter it
     * @param text to be printed; what one argument cannot have is cut off
     * @throws RefusedException when that is no container's {@code config.json}
     */
    public static String of(String configJson, Path program, String text) throws RefusedException {
        if (!program.isAbsolute() || program.getNameCount() < 2) {
            throw new IllegalArgumentException(program + " is in no directory of its own");
        }
        RefusedProcess process = new RefusedProcess(parse(configJson));
        process.changeRoot(program.getParent());
        process.changeProcess("/" + program.getFileName(), argument(text));
        process.changeMounts();
        process.takeDevices();
        process.config.remove("hooks");
        return process.config.toString();
    }

    private static ObjectNode parse(String configJson) throws RefusedException {
        try {
            JsonNode config = JSON.readTree(configJson);
            if (config instanceof ObjectNode object
                    && object.get("process") instanceof ObjectNode
                    && isObjectOrNothing(object.get("root"))
                    && isObjectOrNothing(object.get("linux"))
                    && isObjectOrNothing(object.path("linux").get("resources"))) {
                return object;
            }
            throw unknown("it has no object 'process', or something else for 'root' or 'linux'");
        } catch (JacksonException e) {
            throw unknown(e.getOriginalMessage());
        }
    }

    private static boolean isObjectOrNothing(JsonNode node) {
        return node == null || node.isObject();
    }

    private static RefusedException unknown(String why) {
        return new RefusedException(
                "the engine's config.json is not one of a Linux container (" + why + ")",
                "see what the engine logs");
    }

    /** A NUL would end it, and some runtimes refuse the whole container. */
    private static String argument(String text) {
        String whole = text.replace('\0', ' ');
        if (whole.length() <= MOST_CHARACTERS) {
            return whole;
        }
        boolean pair = Character.isHighSurrogate(whole.charAt(MOST_CHARACTERS - 1));
        return whole.substring(0, pair ? MOST_CHARACTERS - 1 : MOST_CHARACTERS);
    }

    private void changeRoot(Path root) {
        config.putObject("root").put("path", root.toString()).put("readonly", true);
        // It concerns the user's mounts, which are removed.
        linux().remove("rootfsPropagation");
    }

    private void changeProcess(String program, String text) {
        ObjectNode process = (ObjectNode) config.get("process");
        process.putArray("args").add(program).add(text);
        process.remove("commandLine");
        process.put("cwd", "/");
        process.put("noNewPrivileges", true);
        ObjectNode capabilities = process.putObject("capabilities");
        for (String set : List.of("bounding", "effective", "inheritable", "permitted", "ambient")) {
            capabilities.putArray(set);
        }
        // The image's and the user's: our program needs none.
        process.remove("env");
    }

    /** A runtime makes nodes in /dev, and finds itself and its labels in /proc. */
    private void changeMounts() {
        JsonNode given = config.path("mounts");
        ArrayNode mounts = JSON.createArrayNode();
        mounts.add(proc(given));
        mounts.add(mount("/dev", "tmpfs", "nosuid", "noexec", "mode=755", "size=65536k"));
        if (config.get("process").path("terminal").asBoolean()) {
            mounts.add(terminals(given));
        }
        config.set("mounts", mounts);
    }

    /** The engine's own, since what is allowed depends on the namespaces. */
    private static JsonNode proc(JsonNode given) {
        for (JsonNode mount : given) {
            if (isAt("/proc", mount)
                    && (mount.path("type").asText().equals("proc")
                            || mount.path("source").asText().equals("/proc"))) {
                return mount;
            }
        }
        return mount("/proc", "proc", "nosuid", "noexec", "nodev");
    }

    private static JsonNode terminals(JsonNode given) {
        for (JsonNode mount : given) {
            if (isAt("/dev/pts", mount) && mount.path("type").asText().equals("devpts")) {
                return mount;
            }
        }
        return mount(
                "/dev/pts",
                "devpts",
                "nosuid",
                "noexec",
                "newinstance",
                "ptmxmode=0666",
                "mode=0620");
    }

    private static boolean isAt(String place, JsonNode mount) {
        return mount.path("destination").asText().equals(place);
    }

    private static ObjectNode mount(String place, String type, String... options) {
        ObjectNode mount = JSON.createObjectNode();
        mount.put("destination", place).put("type", type).put("source", type);
        ArrayNode list = mount.putArray("options");
        List.of(options).forEach(list::add);
        return mount;
    }

    /** Whatever was there: GPUs, and with --privileged every node of the host. */
    private void takeDevices() {
        linux().remove("devices");
        ArrayNode rules = resources().putArray("devices");
        rules.addObject().put("allow", false).put("access", "rwm");
        for (int minor : new int[] {3, 5, 7, 8, 9}) {
            allow(rules, 1).put("minor", minor);
        }
        for (int minor : new int[] {0, 1, 2}) {
            allow(rules, 5).put("minor", minor);
        }
        allow(rules, 136);
    }

    /** As runtimes allow it to every container: null, zero, full, random, urandom; terminals. */
    private static ObjectNode allow(ArrayNode rules, int major) {
        ObjectNode rule = rules.addObject();
        return rule.put("allow", true).put("type", "c").put("major", major).put("access", "rwm");
    }

    private ObjectNode linux() {
        return config.withObjectProperty("linux");
    }

    private ObjectNode resources() {
        return linux().withObjectProperty("resources");
    }
}
