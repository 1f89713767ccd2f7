package jnvdocker.container;

import jnvdocker.host.DeviceNode;
import jnvdocker.volume.GraphicsFile;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The additions to a container: computed once, rendered per engine. Lists are in the order in which
 * they are rendered.
 *
 * @param devices nodes that the container may read and write, but not create
 * @param files of the driver volume, and sockets of the driver's services, that are mounted one by
 *     one, which only the OCI runtime can
 * @param search what programs find without variables, which only the OCI runtime can arrange
 * @param environment variables that replace the image's and the user's
 * @param labels the container's labels, for clients that list it
 */
public record ContainerEdits(
        List<DeviceNode> devices,
        List<VolumeMount> mounts,
        List<GraphicsFile> files,
        DriverSearch search,
        Map<String, String> environment,
        Map<String, String> labels) {

    /** Edits that every renderer can express. */
    public ContainerEdits(
            List<DeviceNode> devices,
            List<VolumeMount> mounts,
            Map<String, String> environment,
            Map<String, String> labels) {
        this(devices, mounts, List.of(), DriverSearch.NONE, environment, labels);
    }

    public ContainerEdits {
        devices = List.copyOf(devices);
        mounts = List.copyOf(mounts);
        files = List.copyOf(files);
        environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
        labels = Collections.unmodifiableMap(new TreeMap<>(labels));
    }
}
