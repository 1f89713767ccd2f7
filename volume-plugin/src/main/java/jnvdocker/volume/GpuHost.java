package jnvdocker.volume;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;

import java.io.IOException;
import java.nio.file.Path;

/**
 * This host's GPUs and driver, from which containers get what they need.
 *
 * @param nodes the device nodes
 * @param store the driver's files, consolidated
 * @param served the same as containers get them
 */
public record GpuHost(
        Host host,
        GpuInventory inventory,
        DeviceNodes nodes,
        DriverVolumeStore store,
        ServedVolumes served) {

    /**
     * Returns the directory of a driver's files for a container.
     *
     * @param viewer the pid of the process that mounts it there
     * @throws IOException when there is none and none can be made
     */
    public Path served(HostDriver driver, int viewer) throws IOException {
        return served.serve(host, driver.version(), viewer).path();
    }
}
