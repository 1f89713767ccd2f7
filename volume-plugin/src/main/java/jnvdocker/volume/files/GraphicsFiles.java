package jnvdocker.volume.files;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files, other than libraries, by which programs find a driver's Vulkan, EGL, OptiX and OpenCL:
 * an exact list of those that the drivers from 470 on have, as NVIDIA's container toolkit mounts
 * them. Its application profiles are none of them: the toolkit leaves these to the host.
 */
public final class GraphicsFiles {
    /** The directory of a volume that has them. */
    public static final String SHARE = "share";

    private static final String OPENCL = "OpenCL/vendors";
    private static final long MOST_JSON = 64 << 10;
    private static final long MOST_MODEL = 512 << 20;

    /** The administrator's directory, then the distribution's. */
    private static final List<String> PLACES = List.of("/etc", "/usr/local/share", "/usr/share");

    /**
     * Files of one kind.
     *
     * @param directory beneath each of the places, of {@code share}, and of the container's place
     * @param target the container's place
     * @param most the bytes that one may have
     */
    record Group(String directory, String target, List<String> names, long most) {
        String inVolume(String name) {
            return SHARE + "/" + directory + "/" + name;
        }

        /** The possible paths on the host; the first that exists is used. */
        List<String> places(String name) {
            return PLACES.stream().map(place -> place + "/" + directory + "/" + name).toList();
        }
    }

    static final List<Group> GROUPS =
            List.of(
                    new Group(
                            "vulkan/icd.d",
                            "/etc",
                            List.of(
                                    "nvidia_icd.json",
                                    "nvidia_icd.x86_64.json",
                                    "nvidia_icd.aarch64.json",
                                    "nvidia_layers.json"),
                            MOST_JSON),
                    new Group(
                            "vulkan/implicit_layer.d",
                            "/etc",
                            List.of("nvidia_layers.json"),
                            MOST_JSON),
                    new Group(
                            "glvnd/egl_vendor.d",
                            "/usr/share",
                            List.of("10_nvidia.json"),
                            MOST_JSON),
                    new Group(
                            "egl/egl_external_platform.d",
                            "/usr/share",
                            List.of(
                                    "09_nvidia_wayland2.json",
                                    "10_nvidia_wayland.json",
                                    "15_nvidia_gbm.json",
                                    "20_nvidia_xcb.json",
                                    "20_nvidia_xlib.json"),
                            MOST_JSON),
                    new Group("nvidia", "/usr/share", List.of("nvoptix.bin"), MOST_MODEL),
                    new Group(OPENCL, "/etc", List.of("nvidia.icd"), MOST_JSON));

    /** A library by its absolute path, as some distributions name it for Vulkan and EGL. */
    private static final Pattern ABSOLUTE =
            Pattern.compile("(\"library_path\"\\s*:\\s*\")/(?:[^\"/]*/)*(?=[^\"/]+\")");

    private GraphicsFiles() {}

    /** Whether a file of a volume is of use without graphics, too: by it programs find OpenCL. */
    public static boolean isForCompute(String inVolume) {
        return inVolume.startsWith(SHARE + "/" + OPENCL + "/");
    }

    /**
     * Returns the text of a file with libraries by their names alone, which a container's loader
     * finds wherever they are; empty if it has no library by its path.
     */
    public static Optional<String> withoutPaths(String json) {
        Matcher matcher = ABSOLUTE.matcher(json);
        return matcher.find() ? Optional.of(matcher.replaceAll("$1")) : Optional.empty();
    }

    /**
     * All that a volume may have, by path in the volume ({@code
     * share/vulkan/icd.d/nvidia_icd.json}), and where containers search for each ({@code
     * /etc/vulkan/icd.d/nvidia_icd.json}), in an order that never changes.
     */
    public static Map<String, String> targets() {
        Map<String, String> targets = new LinkedHashMap<>();
        for (Group group : GROUPS) {
            for (String name : group.names()) {
                targets.put(
                        group.inVolume(name),
                        group.target() + "/" + group.directory() + "/" + name);
            }
        }
        return Collections.unmodifiableMap(targets);
    }

    /** The directories of a volume that has these files, each after the one it is in. */
    public static List<String> directories(List<String> inVolume) {
        SortedSet<String> directories = new TreeSet<>();
        for (String path : inVolume) {
            for (int end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1)) {
                directories.add(path.substring(0, end));
            }
        }
        return new ArrayList<>(directories);
    }
}
