package jnvdocker.oci.install;

import jnvdocker.host.DeviceNode;
import jnvdocker.host.Gpu;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The devices in our CDI file.
 *
 * @param gpus each with its node
 * @param control nodes that each container with GPUs has
 * @param driver the directory of the driver volume, as it is served
 */
public record CdiDevices(List<Device> gpus, List<DeviceNode> control, Path driver) {
    public CdiDevices {
        gpus = List.copyOf(gpus);
        control = List.copyOf(control);
    }

    /** A copy with the driver at another place, if that is one of this driver. */
    CdiDevices keeping(Optional<Path> place) {
        return place.filter(it -> Objects.equals(it.getFileName(), driver.getFileName()))
                .map(it -> new CdiDevices(gpus, control, it))
                .orElse(this);
    }

    /** A GPU that can be named. */
    public record Device(Gpu gpu, DeviceNode node) {}
}
