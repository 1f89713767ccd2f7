package jnvdocker.mesos.launch;

import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The GPUs that an agent has allocated to a container.
 *
 * @param owner the container that the share belongs to. A nested container has its own share.
 *     Before Mesos 1.10, or if another program launched it, its resources are not stored: then it
 *     uses those of the container around it
 * @param config of that container
 * @param isInherited whether the owner is a container around this one
 */
public record GpuShare(
        RuntimeDirectory owner, ContainerConfig config, boolean isInherited, GpuRequest request) {
    private static final String GPUS = "gpus";
    private static final String UUIDS = "gpu_uuids";

    /** Resources count in thousandths. */
    private static final double THOUSANDTHS = 1000;

    /**
     * @throws RefusedException when it is not a whole number of GPUs, or contradicts itself
     * @throws IOException when the owner's configuration cannot be read
     */
    public static GpuShare of(RuntimeDirectory directory, ContainerConfig config)
            throws RefusedException, IOException {
        RuntimeDirectory owner = directory;
        ContainerConfig its = config;
        while (its.resources().isEmpty() && owner.isNested()) {
            owner = owner.parent().orElseThrow();
            its = owner.config();
        }
        return new GpuShare(owner, its, !owner.equals(directory), request(its.resources()));
    }

    public boolean hasGpus() {
        return !(request instanceof GpuRequest.None);
    }

    static GpuRequest request(List<ContainerConfig.Resource> resources) throws RefusedException {
        double gpus = 0;
        List<String> uuids = new ArrayList<>();
        // One may come in several parts: of different roles, reserved and not.
        for (ContainerConfig.Resource resource : resources) {
            switch (resource.name()) {
                case GPUS -> gpus += resource.scalar();
                case UUIDS -> uuids.addAll(resource.items());
                default -> {}
            }
        }
        int count = count(gpus);
        if (uuids.isEmpty()) {
            return count == 0 ? new GpuRequest.None() : new GpuRequest.Count(count);
        }
        if (count != 0 && count != uuids.size()) {
            throw new RefusedException(
                    "the task has gpus:" + count + " and names " + uuids.size() + " in gpu_uuids",
                    "use only one of the two");
        }
        return devices(uuids);
    }

    private static int count(double gpus) throws RefusedException {
        double thousandths = Math.rint(gpus * THOUSANDTHS);
        boolean whole = thousandths % THOUSANDTHS == 0;
        if (!whole || gpus < 0 || gpus > GpuRequest.MAX_IDS) {
            throw new RefusedException(
                    "the 'gpus' resource must be an unsigned integer, but is " + gpus,
                    "request whole GPUs");
        }
        return (int) (thousandths / THOUSANDTHS);
    }

    private static GpuRequest devices(List<String> uuids) throws RefusedException {
        try {
            return new GpuRequest.Devices(uuids);
        } catch (IllegalArgumentException e) {
            throw new RefusedException(
                    "gpu_uuids has values that are not UUIDs of GPUs: "
                            + Quote.quoted(String.join(",", uuids)),
                    "use the UUIDs that 'jnvdocker gpu ls --json' lists");
        }
    }
}
