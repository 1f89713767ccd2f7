package jnvdocker.container;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A volume that docker mounts read-only into the container.
 *
 * @param volume its name: {@code nvidia_driver_535.104.05}
 * @param driver the volume plugin that serves it
 * @param target the directory in the container
 * @param options for the driver when it makes the volume, without commas
 */
public record VolumeMount(
        String volume, String driver, String target, Map<String, String> options) {

    public VolumeMount {
        options = Collections.unmodifiableMap(new LinkedHashMap<>(options));
    }
}
