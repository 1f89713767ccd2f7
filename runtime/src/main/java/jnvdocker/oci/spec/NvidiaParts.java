package jnvdocker.oci.spec;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.container.ContainerPlanner;
import jnvdocker.host.DrmNodes;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * The additions of NVIDIA's container toolkit to a {@code config.json}, or those that it would make
 * by what is there: its hooks, the driver's nodes and rules for them, and its mounts of the
 * driver's files.
 */
final class NvidiaParts {
    /** Our hook that shows a container its own GPUs; {@code nvidia-container-runtime.c} has it. */
    static final String GPUS_HOOK = "jnvdocker-gpus-hook";

    private static final Set<String> HOOKS =
            Set.of(
                    "nvidia-container-runtime-hook",
                    "nvidia-container-toolkit",
                    "nvidia-cdi-hook",
                    "nvidia-ctk",
                    // The hook of our CDI devices: our runtime leases them itself.
                    "jnvdocker-cdi-hook",
                    // Of an earlier start, by an engine that keeps what is edited.
                    GPUS_HOOK);

    private static final List<String> STAGES =
            List.of(
                    "prestart",
                    "createRuntime",
                    "createContainer",
                    "startContainer",
                    "poststart",
                    "poststop");

    /**
     * The places of the driver's files in a container. Elsewhere, users may have directories of
     * such names.
     */
    private static final Pattern PLACE =
            Pattern.compile("(/usr)?/(s?bin|lib|lib32|lib64|share)/.*|/usr/local/s?bin/.*|/etc/.*");

    /** The driver's files, by the last part of their names. */
    private static final Pattern FILE =
            Pattern.compile(
                    "lib(nvidia|cuda|nvcuvid|nvoptix|GLX_nvidia|EGL_nvidia|GLESv[12](_CM)?_nvidia"
                            + "|vdpau_nvidia|glxserver_nvidia)[^/]*\\.so[^/]*"
                            + "|nvidia-[^/]*\\.so[^/]*|[^/]*nvidia[^/]*\\.json|gsp[^/]*\\.bin"
                            + "|nvoptix\\.bin|nvidia_drv\\.so|[0-9]+-nvidia\\.conf"
                            + "|nvidia-application-profiles-[^/]*"
                            + "|nvidia-(smi|debugdump|persistenced|modprobe|imex(-ctl)?"
                            + "|cuda-mps-(control|server))");

    /** NVIDIA's services, by the beginnings of the names of their sockets. */
    private static final List<String> SERVICES =
            List.of(
                    "/run/nvidia-persistenced/",
                    "/run/nvidia-fabricmanager/",
                    "/var/run/nvidia-persistenced/",
                    "/var/run/nvidia-fabricmanager/",
                    "/tmp/nvidia-mps");

    private NvidiaParts() {}

    static boolean areIn(RuntimeSpec spec, Majors majors) {
        ObjectNode root = spec.root();
        return hasHook(root)
                || has(root.path("linux").path("devices"), device -> isOfDriver(device, majors))
                || has(
                        root.path("linux").path("resources").path("devices"),
                        rule -> allows(rule, majors));
    }

    /** The places of the driver's nodes in the container. */
    static List<String> nodes(RuntimeSpec spec, Majors majors) {
        List<String> nodes = new ArrayList<>();
        for (JsonNode device : spec.root().path("linux").path("devices")) {
            if (isOfDriver(device, majors)) {
                nodes.add(RuntimeSpec.normal(device.path("path").asText("")));
            }
        }
        return nodes;
    }

    private static boolean hasHook(ObjectNode root) {
        return STAGES.stream()
                .anyMatch(stage -> has(root.path("hooks").path(stage), NvidiaParts::isHook));
    }

    /**
     * @param cdi whether an engine has put CDI devices in, which may come without hooks
     * @param users whether something is the user's own, by its place in the container
     */
    static void remove(RuntimeSpec spec, Majors majors, boolean cdi, Predicate<String> users) {
        ObjectNode root = spec.root();
        boolean injected = cdi || hasHook(root);
        for (String stage : STAGES) {
            removeIf(root.path("hooks").path(stage), NvidiaParts::isHook);
        }
        removeIf(root.path("linux").path("devices"), device -> isOfDriver(device, majors));
        removeIf(
                root.path("linux").path("resources").path("devices"), rule -> allows(rule, majors));
        removeIf(
                root.path("process").path("env"),
                entry -> entry.asText("").startsWith("NVIDIA_CTK_LIBCUDA_DIR="));
        if (injected) {
            removeIf(
                    root.path("mounts"),
                    mount ->
                            (isDriverFile(mount) || cdi && isDriverDirectory(mount))
                                    && !users.test(mount.path("destination").asText("")));
            removeGraphicsNodes(root, users);
        }
    }

    /** Removes graphics nodes that no user named: they may be of GPUs that are not leased. */
    private static void removeGraphicsNodes(ObjectNode root, Predicate<String> users) {
        Set<Integer> minors = new TreeSet<>();
        removeIf(
                root.path("linux").path("devices"),
                device -> {
                    boolean out =
                            isOfGraphics(device) && !users.test(device.path("path").asText(""));
                    if (out) {
                        minors.add(device.path("minor").asInt(-1));
                    }
                    return out;
                });
        removeIf(
                root.path("linux").path("resources").path("devices"),
                rule -> isOfGraphics(rule) && minors.contains(rule.path("minor").asInt(-1)));
    }

    private static boolean isOfGraphics(JsonNode deviceOrRule) {
        return deviceOrRule.path("major").asInt(-1) == DrmNodes.MAJOR;
    }

    private static boolean isHook(JsonNode hook) {
        return HOOKS.contains(last(hook.path("path").asText("")))
                || HOOKS.contains(last(hook.path("args").path(0).asText("")));
    }

    private static boolean isOfDriver(JsonNode device, Majors majors) {
        String type = device.path("type").asText("");
        return (type.equals("c") || type.equals("u")) && majors.has(device.path("major").asInt(-1));
    }

    private static boolean allows(JsonNode rule, Majors majors) {
        return RuntimeSpec.rule(rule).filter(it -> majors.has(it.major())).isPresent();
    }

    /** Must not match a user's mounts: not every engine reports which they are. */
    private static boolean isDriverFile(JsonNode mount) {
        String source = mount.path("source").asText("");
        String target = mount.path("destination").asText("");
        if (SERVICES.stream().anyMatch(source::startsWith)) {
            return source.equals(target);
        }
        return source.startsWith("/")
                && last(source).equals(last(target))
                && PLACE.matcher(target).matches()
                && (FILE.matcher(last(target)).matches() || target.contains("/nvidia/"));
    }

    /** Whether a mount is that of our CDI devices. */
    private static boolean isDriverDirectory(JsonNode mount) {
        return mount.path("destination").asText("").equals(ContainerPlanner.DRIVER_DIRECTORY);
    }

    private static String last(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    private static boolean has(JsonNode list, Predicate<JsonNode> which) {
        for (JsonNode each : list) {
            if (which.test(each)) {
                return true;
            }
        }
        return false;
    }

    private static void removeIf(JsonNode list, Predicate<JsonNode> which) {
        if (list instanceof ArrayNode array) {
            for (Iterator<JsonNode> each = array.iterator(); each.hasNext(); ) {
                if (which.test(each.next())) {
                    each.remove();
                }
            }
        }
    }
}
