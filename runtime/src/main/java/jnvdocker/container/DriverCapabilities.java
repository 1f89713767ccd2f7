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

    private DriverCapabilities() {}

    /**
     * Whether it needs the files of Vulkan, EGL and OptiX. Words that mean nothing to us are
     * ignored; without the variable it asks for {@code compute} and {@code utility} alone.
     */
    public static boolean wantsGraphics(Map<String, String> environment) {
        return Stream.of(environment.getOrDefault(VARIABLE, "").split(","))
                .map(String::strip)
                .anyMatch(GRAPHICS::contains);
    }
}
