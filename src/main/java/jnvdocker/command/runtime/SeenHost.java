package jnvdocker.command.runtime;

import jnvdocker.grant.FirstScan;
import jnvdocker.grant.OciContainers;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.oci.spec.Majors;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * The host as an engine's request found it, read once for all that is decided about that request.
 *
 * @param driver empty when none is loaded
 * @param scan for the uses of its GPUs, which has begun
 * @param majors none when no driver is loaded: then no node is a GPU's
 */
record SeenHost(Optional<HostDriver> driver, FirstScan scan, Majors majors) {
    static SeenHost see(
            Host host, GpuInventory inventory, DeviceNodes nodes, OciContainers containers)
            throws IOException {
        if (!HostDriver.isLoaded(host)) {
            return new SeenHost(Optional.empty(), containers.scan(List.of()), Majors.NONE);
        }
        HostDriver driver = inventory.read();
        FirstScan scan = containers.scan(driver.gpus());
        Majors majors = new Majors(nodes.gpuMajor(), nodes.otherMajors());
        return new SeenHost(Optional.of(driver), scan, majors);
    }

    List<Gpu> gpus() {
        return driver.map(HostDriver::gpus).orElse(List.of());
    }
}
