package jnvdocker.container;

import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Which parts of the driver a container requests, as NVIDIA's images say it in {@code
 * NVIDIA_DRIVER_CAPABILITIES}: words with commas between them, or {@code all}.
 */
public final class DriverCapabilities {
    private static final String VARIABLE = GpuRequest.DRIVER_CAPABILITIES;
    private static final Set<String> GRAPHICS = Set.of("all", "display", "graphics");

    /** What a container needs that observes the GPUs. */
    public static final List<String> OBSERVER = List.of("utility");

    /** The second is of libraries alone. */
    private static final Set<String> OBSERVING = Set.of("utility", "compat32");

    private static final Set<String> COMPUTE = Set.of("all", "compute");

    /** All words that NVIDIA's runtime knows. It refuses others, and its CDI mode ignores them. */
    private static final List<String> KNOWN =
            List.of("all", "compat32", "compute", "display", "graphics", "ngx", "utility", "video");

    private static final int MOST_SHOWN = 40;

    /** Libraries of single capabilities, as libnvidia-container has them; others are of all. */
    private static final Map<Pattern, Set<String>> LIBRARIES =
            Map.of(
                    Pattern.compile("lib(vdpau_nvidia|nvcuvid|nvidia-(encode|opticalflow))\\.so.*"),
                    Set.of("all", "video"),
                    Pattern.compile(
                            "lib((GLX|EGL|GLESv1_CM|GLESv2)_nvidia|GLX_indirect|nvoptix|nvidia-("
                                    + "eglcore|glcore|tls|glsi|fbc|ifr|rtcore|glvkspirv|cbl|egl-.*"
                                    + "|vulkan-producer|wayland-client|gtk[23]))\\.so.*"),
                    GRAPHICS,
                    Pattern.compile("libnvidia-ngx\\.so.*"),
                    Set.of("all", "ngx"));

    private DriverCapabilities() {}

    /** Whether it only reads the GPUs' state, by NVML: nothing computes or draws. */
    public static boolean onlyObserve(Map<String, String> environment) {
        return onlyObserve(words(environment.getOrDefault(VARIABLE, "")).toList());
    }

    /**
     * Likewise.
     *
     * @param capabilities that a request names
     */
    public static boolean onlyObserve(List<String> capabilities) {
        return capabilities.contains("utility") && OBSERVING.containsAll(capabilities);
    }

    /** Whether it needs OpenCL; without the variable it does. */
    static boolean wantsCompute(Map<String, String> environment) {
        String words = environment.getOrDefault(VARIABLE, "");
        return words.isEmpty() || has(words, COMPUTE);
    }

    /**
     * Whether it needs the files of Vulkan, EGL and OptiX; without the variable it requests {@code
     * compute} and {@code utility} alone.
     */
    public static boolean wantsGraphics(Map<String, String> environment) {
        return has(environment.getOrDefault(VARIABLE, ""), GRAPHICS);
    }

    /**
     * Whether it needs a library where compilers and programs that open a path search; without the
     * variable it needs all of the driver's.
     *
     * @param library its name: {@code libnvcuvid.so.1}
     */
    static boolean wants(Map<String, String> environment, String library) {
        String words = environment.getOrDefault(VARIABLE, "");
        return words.isEmpty()
                || LIBRARIES.entrySet().stream()
                        .filter(entry -> entry.getKey().matcher(library).matches())
                        .allMatch(entry -> has(words, entry.getValue()));
    }

    /** A remark about the first word that is ignored, since it means nothing. */
    public static Optional<String> unknown(Map<String, String> environment) {
        return words(Objects.requireNonNullElse(environment.get(VARIABLE), ""))
                .filter(word -> !word.isEmpty() && !KNOWN.contains(word))
                .findFirst()
                .map(word -> word.substring(0, Math.min(word.length(), MOST_SHOWN)))
                .map(word ->
                        "%s has %s, which is ignored; choose from %s"
                                .formatted(VARIABLE, Quote.quoted(word), String.join(", ", KNOWN)));
    }

    private static boolean has(String words, Set<String> wanted) {
        return words(words).anyMatch(wanted::contains);
    }

    private static Stream<String> words(String words) {
        return Stream.of(words.split(",")).map(String::strip);
    }
}
