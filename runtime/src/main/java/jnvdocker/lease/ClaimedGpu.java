package jnvdocker.lease;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;

/**
 * One GPU of a claim, with the node that the container was given for it. A stopped container keeps
 * the node, which after re-cabling may be another GPU's.
 *
 * @param index when it was claimed
 * @param minor of its node
 */
public record ClaimedGpu(String uuid, int index, int minor) {

    public static ClaimedGpu of(Gpu gpu) {
        return new ClaimedGpu(gpu.uuid(), gpu.index(), gpu.minor());
    }

    /** Whether it is this one, under the same node. */
    public boolean isStill(Gpu gpu) {
        return gpu.uuid().equals(uuid) && gpu.minor() == minor;
    }

    /** {@code /dev/nvidia1}. */
    public String node() {
        return DeviceNodes.nameOf(minor);
    }
}
