package jnvdocker.core;

import jnvdocker.container.Allocation;
import jnvdocker.container.VolumeMount;
import jnvdocker.grant.Grant;
import jnvdocker.grant.Grants;
import jnvdocker.grant.Waiting;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The claims of containers and programs that {@code jnvdocker run} and {@code jnvdocker gpu run}
 * start, and what a container gets with its claim.
 */
public final class RunClaims {
    /** The path of the lease in a container. */
    public static final String DIRECTORY = "/run/jnvdocker";

    private final Grants grants;
    private final String volumeDriver;

    /**
     * @param volumeDriver the name of our volume plugin
     */
    RunClaims(Grants grants, String volumeDriver) {
        this.grants = grants;
        this.volumeDriver = volumeDriver;
    }

    /**
     * Reserves all the GPUs that are requested, until docker mounts the claim's volume or the
     * client ends.
     *
     * @param waits for GPUs that are taken; without it, the request is refused
     * @return nothing for a request for no GPU
     * @throws RefusedException when they cannot be given; the message names their holders if others
     *     have them
     * @throws IOException when the registry cannot be written
     */
    public Grant<Claim> take(Request request, Optional<Waiting> waits)
            throws RefusedException, IOException {
        return new Grant<>(
                grants.take(request, waits).map(Lease::claim),
                grants.parts().reservations()::cancel);
    }

    /**
     * Makes the claim of a container that observes the GPUs. It names no GPU and gets no lease; our
     * OCI runtime learns by it who has started the container.
     */
    public Claim observer(Owner owner, String image) throws IOException {
        Claim claim =
                new Claim(
                        grants.parts().registry().newKey(),
                        new Origin.OciContainer("", Optional.of(image)),
                        owner,
                        List.of(),
                        grants.parts().registry().now(),
                        Optional.empty());
        grants.parts().registry().requests().made(claim, new GpuRequest.All());
        return claim;
    }

    /**
     * The claim's GPUs as its container gets them.
     *
     * @param gpus those that the host has at this moment
     * @throws RefusedException when the claim's are not all among them
     */
    public Allocation allocation(Claim claim, List<Gpu> gpus) throws RefusedException {
        List<Gpu> its = gpus(claim, gpus);
        VolumeMount mount =
                new VolumeMount(ClaimNames.volume(claim.key()), volumeDriver, DIRECTORY);
        return new Allocation(
                its, List.of(mount), Map.of(ClaimNames.CLAIM_LABEL, claim.key().text()));
    }

    /**
     * The claim's GPUs, as they are now.
     *
     * @param gpus those that the host has at this moment
     * @throws RefusedException when the claim's are not all among them
     */
    public static List<Gpu> gpus(Claim claim, List<Gpu> gpus) throws RefusedException {
        List<Gpu> its =
                gpus.stream()
                        .filter(gpu -> claim.gpus().stream().anyMatch(it -> it.isStill(gpu)))
                        .toList();
        if (its.size() < claim.gpus().size()) {
            throw new RefusedException(
                    LeaseText.vanished(claim.gpus()),
                    "see 'jnvdocker gpu ls' and dmesg, then try again");
        }
        return its;
    }
}
