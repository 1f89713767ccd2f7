package jnvdocker.container;

import jnvdocker.request.GpuRequest;

import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Which parts of the driver a container asks for, as NVIDIA's images say it in {@code
 * NVIDIA_DRIVER_CAPABILITIES}: words with commas between them, or {@code all}.
 */
public final class DriverCapabilities {
    private static final String VARIABLE = GpuRequest.DRIVER_CAPABILITIES;
    private static final Set<String> GRAPHICS = Set.of("all", "display", "graphics");

    private static final Set<String> COMPUTE = Set.of("all", "compute");

    private DriverCapabilities() {}

    /** Whether it needs OpenCL; without the variable it does. */
    static boolean wantsCompute(Map<String, String> environment) {
        String words = environment.getOrDefault(VARIABLE, "");
        return words.isEmpty() || has(words, COMPUTE);
    }

    /**
     * Whether it needs the files of Vulkan, EGL and OptiX. Words that mean nothing to us are
     * ignored; without the variable it asks for {@code compute} and {@code utility} alone.
     */
    public static boolean wantsGraphics(Map<String, String> environment) {
        return has(environment.getOrDefault(VARIABLE, ""), GRAPHICS);
    }

    private static boolean has(String words, Set<String> wanted) {
        return Stream.of(words.split(",")).map(String::strip).anyMatch(wanted::contains);
    }
}
