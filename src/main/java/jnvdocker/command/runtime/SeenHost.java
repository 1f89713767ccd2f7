package jnvdocker.command.runtime;

import jnvdocker.grant.FirstScan;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.DrmNodes;
import jnvdocker.host.FabricNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.spec.Majors;
import jnvdocker.volume.GpuHost;

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
    /** A host that was seen, or why it was not. */
    record Look(Optional<SeenHost> host, Optional<IOException> failure) {
        SeenHost seen() throws IOException {
            if (failure.isPresent()) {
                throw failure.get();
            }
            return host.orElseThrow();
        }
    }

    /** Begins to look at the host; a failure is for when it is known what is refused by it. */
    static Look look(GpuHost gpuHost, OciContainers containers) {
        try {
            return new Look(Optional.of(see(gpuHost, containers)), Optional.empty());
        } catch (IOException e) {
            return new Look(Optional.empty(), Optional.of(e));
        }
    }

    private static SeenHost see(GpuHost gpuHost, OciContainers containers) throws IOException {
        if (!HostDriver.isLoaded(gpuHost.host())) {
            return new SeenHost(Optional.empty(), containers.scan(List.of()), Majors.NONE);
        }
        HostDriver driver = gpuHost.inventory().read();
        FirstScan scan = containers.scan(driver.gpus());
        return new SeenHost(Optional.of(driver), scan, majors(gpuHost.nodes(), driver.gpus()));
    }

    static Majors majors(DeviceNodes nodes, List<Gpu> gpus) throws IOException {
        return new Majors(
                nodes.gpuMajor(),
                nodes.otherMajors(),
                FabricNodes.majors(nodes.host()),
                DrmNodes.minors(nodes.host(), gpus),
                DrmNodes.all(nodes.host()));
    }

    /** Refuses when none is loaded. */
    HostDriver loaded(GpuHost gpuHost) throws IOException {
        return driver.isPresent() ? driver.get() : gpuHost.inventory().read();
    }

    List<Gpu> gpus() {
        return driver.map(HostDriver::gpus).orElse(List.of());
    }
}
