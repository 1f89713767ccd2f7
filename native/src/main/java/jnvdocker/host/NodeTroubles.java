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
        return others.of(gpu).or(() -> node(gpu));
    }

    private Optional<Refusal> node(Gpu gpu) {
        try {
            return nodes.faults(List.of(gpu)).stream()
                    .filter(fault -> fault.path().endsWith("nvidia" + gpu.minor()))
                    .filter(fault -> !fault.missing() || !fault.made())
                    .findFirst()
                    .map(NodeTroubles::refusal);
        } catch (IOException e) {
            return Optional.of(
                    new Refusal(
                            "its node cannot be examined: " + FileErrors.describe(e),
                            "see 'jnvdocker gpu doctor'"));
        }
    }

    private static Refusal refusal(DeviceNodes.Fault fault) {
        String device = fault.major() + ":" + fault.minor();
        return fault.missing()
                ? new Refusal(
                        fault.path() + " is missing, which the administrator makes here",
                        "mknod " + fault.path() + " c " + device.replace(':', ' '))
                : new Refusal(
                        fault.path()
                                + " is not the character device "
                                + device
                                + " that the driver has now",
                        "remove it, it is made again");
    }

    @Override
    public void forgive(Gpu gpu) {
        others.forgive(gpu);
    }

    @Override
    public void tell(Runnable listener) {
        others.tell(listener);
    }
}
