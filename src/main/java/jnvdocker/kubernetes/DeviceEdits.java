package jnvdocker.kubernetes;

import java.util.List;
import java.util.Map;

/**
 * What a container is to get with its devices. Runtimes without CDI ignore the names, and use the
 * rest; those with CDI find the same nodes and mounts in our file.
 *
 * @param nodes by their paths on the host
 * @param mounts all read-only
 * @param environment variables that replace the image's; a pod's own replace these
 * @param cdi names of devices, {@code pod.jnvdocker/gpu=GPU-5c1a1003-…}
 */
public record DeviceEdits(
        List<Node> nodes, List<Mount> mounts, Map<String, String> environment, List<String> cdi) {
    public DeviceEdits {
        nodes = List.copyOf(nodes);
        mounts = List.copyOf(mounts);
        environment = Map.copyOf(environment);
        cdi = List.copyOf(cdi);
    }

    /** A device node, which the container may read and write. */
    public record Node(String hostPath, String containerPath) {}

    /** A directory of the host's. */
    public record Mount(String hostPath, String containerPath) {}
}
