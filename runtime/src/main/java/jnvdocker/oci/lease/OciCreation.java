package jnvdocker.oci.lease;

import jnvdocker.lease.Owner;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * A container that is to be created.
 *
 * @param process our runtime, which waits for the answer and then becomes the real one
 * @param candidates the UUIDs of the only GPUs that it may be given; empty when it may any
 * @param reservation the claim that was made for it beforehand
 * @param time how long its user wants the GPUs
 */
public record OciCreation(
        OciContainers.Container container,
        String name,
        Optional<String> image,
        ProcessId process,
        Owner owner,
        GpuRequest request,
        Set<String> candidates,
        Optional<String> reservation,
        Optional<Duration> time) {
    public OciCreation {
        candidates = Set.copyOf(candidates);
    }

    /** Whether it requests a GPU. */
    public boolean isOfGpus() {
        return !(request instanceof GpuRequest.None);
    }

    /**
     * A copy for a container that may be given only some GPUs.
     *
     * @param uuids of these; empty when it may be given any
     */
    public OciCreation among(Set<String> uuids) {
        return new OciCreation(
                container, name, image, process, owner, request, uuids, reservation, time);
    }
}
