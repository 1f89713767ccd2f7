package jnvdocker.oci.lease;

import jnvdocker.lease.Request;
import jnvdocker.request.GpuRequest;

import java.util.Optional;
import java.util.Set;

/**
 * A container that is to be created.
 *
 * @param request of our runtime, which waits for the answer and then becomes the real one; it names
 *     the container and its root
 * @param id of the container
 * @param reservation the claim that was made for it beforehand
 */
public record OciCreation(Request request, String id, Optional<String> reservation) {
    OciContainers.Container container() {
        return new OciContainers.Container(request.origin().runtimeRoot().orElseThrow(), id);
    }

    String name() {
        return request.container().orElseThrow();
    }

    /** The GPUs that it requests. */
    public GpuRequest gpus() {
        return request.requested().request();
    }

    /** Whether it requests a GPU. */
    public boolean isOfGpus() {
        return !(gpus() instanceof GpuRequest.None);
    }

    /**
     * A copy for a container that may be given only some GPUs.
     *
     * @param uuids of these; empty when it may be given any
     */
    public OciCreation among(Set<String> uuids) {
        return new OciCreation(request.among(uuids), id, reservation);
    }
}
