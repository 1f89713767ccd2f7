package jnvdocker.host;

import jnvdocker.posix.FileErrors;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Adds to the faults of GPUs that their nodes are not the driver's, as after {@code docker run -v
 * /dev/nvidia0} made a directory of that name. A node that is made when it is needed is no fault.
 */
final class NodeTroubles implements GpuTroubles {
    private final DeviceNodes nodes;
    private final GpuTroubles others;

    NodeTroubles(DeviceNodes nodes, GpuTroubles others) {
        this.nodes = nodes;
        this.others = others;
    }

    @Override
    public Optional<Refusal> of(Gpu gpu) {
        return mark(List.of(gpu)).getFirst().trouble();
    }

    @Override
    public List<Gpu> mark(List<Gpu> gpus) {
        List<Gpu> marked = others.mark(gpus);
        if (marked.isEmpty()) {
            return marked;
        }
        try {
            List<DeviceNodes.Fault> faults =
                    nodes.faults(marked).stream()
                            .filter(fault -> !fault.missing() || !fault.made())
                            .toList();
            return marked.stream().map(gpu -> gpu.isSound() ? with(gpu, faults) : gpu).toList();
        } catch (IOException e) {
            Refusal unknown =
                    new Refusal(
                            "its node cannot be examined: " + FileErrors.describe(e),
                            "see 'jnvdocker gpu doctor'");
            return marked.stream().map(gpu -> gpu.isSound() ? gpu.with(unknown) : gpu).toList();
        }
    }

    private static Gpu with(Gpu gpu, List<DeviceNodes.Fault> faults) {
        return faults.stream()
                .filter(fault -> fault.path().endsWith("nvidia" + gpu.minor()))
                .findFirst()
                .map(fault -> gpu.with(refusal(fault)))
                .orElse(gpu);
    }

    private static Refusal refusal(DeviceNodes.Fault fault) {
        String device = fault.major() + ":" + fault.minor();
        return fault.missing()
                ? new Refusal(
                        fault.path() + " is missing, and jnvdocker may not make it here",
                        "make it (mknod %s c %s), or pass it through to this container"
                                .formatted(fault.path(), device.replace(':', ' ')))
                : new Refusal(
                        "%s is not the character device %s that the driver has now"
                                .formatted(fault.path(), device),
                        "remove it, it is made again");
    }

    @Override
    public void clearReportedFault(Gpu gpu) {
        others.clearReportedFault(gpu);
    }

    @Override
    public void addListener(Runnable listener) {
        others.addListener(listener);
    }
}
