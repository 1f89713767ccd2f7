package jnvdocker.command.runtime;

import jnvdocker.command.start.NeedsCheck;
import jnvdocker.core.Leases;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ObserverPolicy;
import jnvdocker.lease.Owner;
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
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The parts that decide each request of an OCI engine, of our runtime and of our CDI hook alike.
 *
 * @param trials whether a container, by its id, is one of the daemon's own trials
 * @param claims the directory of the claims
 * @param proxy the socket of {@code jnvdockerd --proxy}
 * @param observers who may observe the GPUs, as the configuration is now
 */
public record OciParts(
        GpuHost gpuHost,
        NeedsCheck needs,
        Leases leases,
        OciContainers containers,
        OciKeeper keeper,
        GpuWishes wishes,
        ContainerOwner owners,
        Predicate<String> trials,
        Path claims,
        Path proxy,
        Supplier<ObserverPolicy> observers) {

    private static final int TRIES = 30;
    private static final Duration PAUSE = Duration.ofMillis(50);

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
                        new GpuWishes.Claims() {
                            @Override
                            public Optional<GpuWishes.Made> of(ClaimKey claim) throws IOException {
                                return made(claim, call)
                                        .map(made ->
                                                new GpuWishes.Made(
                                                        made.request(),
                                                        made.isOf(call.container().id())));
                            }

                            @Override
                            public boolean isKnown(ClaimKey claim) throws IOException {
                                return containers.isKnown(claim);
                            }
                        });
    }

    OciCreation creation(CreateCall call, GpuRequest request) throws RefusedException, IOException {
        Owner owner = trials.test(call.container().id()) ? Owner.TRIAL : owner(call);
        return call.creation(owner, request, Optional.empty());
    }

    /**
     * The owner of a container. Of one whose claim was lost with the registry, its last start knows
     * the owner, if that ran when the registry was lost.
     */
    private Owner owner(CreateCall call) throws IOException {
        Owner owner = owners.of(call.usersLabels());
        return owner.isUnknown() && call.usersLabels().containsKey(ClaimNames.CLAIM_LABEL)
                ? containers.lastOwner(call.container()).orElse(owner)
                : owner;
    }

    /**
     * The creation of a container that may observe the GPUs; empty when it has to hold them.
     *
     * @param otherwise its request then
     */
    Optional<OciCreation> observing(GpuWish otherwise, CreateCall call)
            throws RefusedException, IOException {
        GpuRequest all = new GpuRequest.All();
        OciCreation creation =
                otherwise instanceof GpuWish.Claimed(ClaimKey claim, _, _)
                        ? claimed(claim, call, all)
                        : creation(call, all);
        return Optional.of(creation).filter(it -> mayObserve(it, call));
    }

    /** Whether a container that requests all GPUs may observe them. */
    boolean mayObserve(OciCreation creation, CreateCall call) {
        return creation.gpus() instanceof GpuRequest.All
                && observers.get().allows(call.imageName(), creation.request().requested().owner());
    }

    /** What has a container wait whose label is not served here. */
    String toWait() {
        return (Files.exists(proxy)
                        ? "start it at %s, where its label %s counts"
                        : "its label %2$s counts at %1$s alone, which an administrator can have"
                                + " served: systemctl enable --now jnvdocker-proxy.socket")
                .formatted(proxy, ClaimNames.WAIT_LABEL);
    }

    /** The creation of a container with the reservation and the owner of a claim. */
    OciCreation claimed(ClaimKey claim, CreateCall call, GpuRequest request)
            throws RefusedException, IOException {
        Optional<ClaimStore.Made> made = made(claim, call);
        if (made.isEmpty() || made.get().isOver() && !isSameUsers(call, made.get())) {
            // Of a container that was removed: the same request, by whoever makes it.
            return creation(call, request);
        }
        if (made.get().container().isPresent() || made.get().isOver()) {
            containers.wanted(claim, call.container(), call.name());
        }
        return call.creation(made.get().owner(), request, Optional.of(claim.id()));
    }

    private Optional<ClaimStore.Made> made(ClaimKey claim, CreateCall call) throws IOException {
        Optional<ClaimStore.Made> made = containers.made(claim, call.container());
        // A container that was just removed may have it: docker's word on that is on its way.
        for (int i = 0;
                made.isEmpty() && i < TRIES && containers.isAnothers(claim, call.container());
                i++) {
            Pace.REAL.sleep(PAUSE);
            made = containers.made(claim, call.container());
        }
        return made.filter(it -> !isAnothers(call, it));
    }

    private boolean isSameUsers(CreateCall call, ClaimStore.Made made) {
        return ContainerOwner.isSame(owners.of(call.usersLabels()), made.owner());
    }

    private boolean isAnothers(CreateCall call, ClaimStore.Made made) {
        Owner owner = owners.of(call.usersLabels());
        return made.isOver()
                ? !owner.isUnknown() && !ContainerOwner.isSame(owner, made.owner())
                : ContainerOwner.isAnothers(owner, made.owner());
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
        leases.decisions()
                .refused(
                        owners.of(call.usersLabels()),
                        "container " + Quote.shown(call.name()),
                        why);
    }
}
