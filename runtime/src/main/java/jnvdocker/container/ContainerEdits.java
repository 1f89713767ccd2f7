package jnvdocker.container;

import jnvdocker.host.DeviceNode;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The additions to a container: computed once, rendered per engine. Lists are in the order in which
 * they are rendered.
 *
 * @param devices nodes that the container may read and write, but not make anew
 * @param environment variables that replace the image's and the user's
 * @param labels the container's labels, for those who list it
 */
public record ContainerEdits(
        List<DeviceNode> devices,
        List<VolumeMount> mounts,
        Map<String, String> environment,
        Map<String, String> labels) {

    public ContainerEdits {
        devices = List.copyOf(devices);
        mounts = List.copyOf(mounts);
        environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
        labels = Collections.unmodifiableMap(new TreeMap<>(labels));
    }
}
