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
import jnvdocker.oci.spec.GpuWish;
import jnvdocker.oci.spec.GpuWishes;
import jnvdocker.oci.spec.Majors;
import jnvdocker.registry.ClaimStore;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The parts that decide each request of an OCI engine, of our runtime and of our CDI hook alike.
 *
 * @param claims the directory of the claims
 * @param proxy the socket of {@code jnvdockerd --proxy}
 */
public record OciParts(
        GpuHost gpuHost,
        NeedsCheck needs,
        Leases leases,
        OciContainers containers,
        OciKeeper keeper,
        GpuWishes wishes,
        ContainerOwner owners,
        Path claims,
        Path proxy) {

    GpuWishes.World world(List<Gpu> gpus, Majors majors) {
        return new GpuWishes.World(NamedNodes.minors(gpus), majors, claims);
    }

    /** What a container requests. */
    GpuWish wish(CreateCall call, List<Gpu> gpus, Majors majors)
            throws RefusedException, IOException {
        return call.isPodmansInfra()
                ? new GpuWish.Nothing()
                : wishes.of(
                        call.spec(),
                        call.docker(),
                        call.image(),
                        world(gpus, majors),
                        claim ->
                                containers
                                        .made(claim, call.container())
                                        .map(made ->
                                                new GpuWishes.Made(
                                                        made.request(),
                                                        made.container().isPresent())));
    }

    OciCreation creation(CreateCall call, GpuRequest request) throws RefusedException {
        return call.creation(owners.of(call.usersLabels()), request, Optional.empty());
    }

    /** The creation of a container with the reservation and the owner of a claim. */
    OciCreation claimed(String claim, CreateCall call, GpuRequest request)
            throws RefusedException, IOException {
        Optional<ClaimStore.Made> made = containers.made(claim, call.container());
        return made.isPresent()
                ? call.creation(made.get().owner(), request, Optional.of(claim))
                : creation(call, request);
    }

    /**
     * Checks what a container with GPUs needs, whose root is there.
     *
     * @return the UUIDs of the only GPUs that it may be given; empty when it may any
     */
    Set<String> check(CreateCall call, GpuRequest request, HostDriver driver)
            throws IOException, RefusedException {
        return check(call, request, driver, () -> call.hasCompat(driver.version()));
    }

    /**
     * Checks what a container with GPUs needs.
     *
     * @param compat whether CUDA libraries of the image's own come before the driver's, if known
     * @return the UUIDs of the only GPUs that it may be given; empty when it may any
     */
    Set<String> check(
            CreateCall call,
            GpuRequest request,
            HostDriver driver,
            Supplier<Optional<Boolean>> compat)
            throws IOException, RefusedException {
        return needs.check(
                GpuNeeds.withGpus(call.merged(), Map.of()), request, driver, compat, call.client());
    }

    /** Notes that a container is not created. */
    void refused(CreateCall call, RefusedException why) {
        leases.refused(owners.of(call.usersLabels()), "container " + Quote.shown(call.name()), why);
    }
}
