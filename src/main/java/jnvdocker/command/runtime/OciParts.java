package jnvdocker.command.runtime;

import jnvdocker.command.start.NeedsCheck;
import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciCreation;
import jnvdocker.oci.lease.OciKeeper;
import jnvdocker.oci.spec.GpuWishes;
import jnvdocker.oci.spec.Majors;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The parts that decide each request of an OCI engine, of our runtime and of our CDI hook alike.
 *
 * @param claims the directory of the claims
 */
public record OciParts(
        GpuHost gpuHost,
        NeedsCheck needs,
        Leases leases,
        OciContainers containers,
        OciKeeper keeper,
        GpuWishes wishes,
        ContainerOwner owners,
        Path claims) {

    GpuWishes.World world(List<Gpu> gpus, Majors majors) {
        return new GpuWishes.World(NamedNodes.minors(gpus), majors, claims);
    }

    OciCreation creation(CreateCall call, GpuRequest request) throws RefusedException {
        return call.creation(owners.of(call.usersLabels()), request);
    }

    /**
     * Checks what a container with GPUs needs.
     *
     * @return the UUIDs of the only GPUs that it may be given; empty when it may any
     */
    Set<String> check(CreateCall call, GpuRequest request, HostDriver driver)
            throws IOException, RefusedException {
        return needs.check(
                GpuNeeds.withGpus(call.merged(), Map.of()),
                request,
                driver,
                () -> call.hasCompat(driver.version()),
                call.client());
    }

    /** Notes that a container is not created. */
    void refused(CreateCall call, RefusedException why) {
        leases.refused(owners.of(call.usersLabels()), "container " + Quote.shown(call.name()), why);
    }
}
