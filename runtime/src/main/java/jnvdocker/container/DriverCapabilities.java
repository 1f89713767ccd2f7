package jnvdocker.container;

import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Which parts of the driver a container requests, as NVIDIA's images say it in {@code
 * NVIDIA_DRIVER_CAPABILITIES}: words with commas between them, or {@code all}.
 */
public final class DriverCapabilities {
    private static final String VARIABLE = GpuRequest.DRIVER_CAPABILITIES;
    private static final Set<String> GRAPHICS = Set.of("all", "display", "graphics");

    private static final Set<String> COMPUTE = Set.of("all", "compute");

    /** All words that NVIDIA's runtime knows. It refuses others, and its CDI mode ignores them. */
    private static final List<String> KNOWN =
            List.of("all", "compat32", "compute", "display", "graphics", "ngx", "utility", "video");

    private static final int MOST_SHOWN = 40;

    private DriverCapabilities() {}

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

    /** A remark about the first word that is ignored, since it means nothing. */
    public static Optional<String> unknown(Map<String, String> environment) {
        return words(Objects.requireNonNullElse(environment.get(VARIABLE), ""))
                .filter(word -> !word.isEmpty() && !KNOWN.contains(word))
                .findFirst()
                .map(word -> word.substring(0, Math.min(word.length(), MOST_SHOWN)))
                .map(word ->
                        VARIABLE
                                + " has "
                                + Quote.quoted(word)
                                + ", which is ignored; choose from "
                                + String.join(", ", KNOWN));
    }

    private static boolean has(String words, Set<String> wanted) {
        return words(words).anyMatch(wanted::contains);
    }

    private static Stream<String> words(String words) {
        return Stream.of(words.split(",")).map(String::strip);
    }
}
