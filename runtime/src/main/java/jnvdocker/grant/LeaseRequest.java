package jnvdocker.grant;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Ticket;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;

import java.time.Instant;
import java.util.Optional;
import java.util.Set;

/**
 * Who asks for GPUs, and for what.
 *
 * @param candidates the UUIDs of the only GPUs that it may be given; empty when it may any
 * @param client the process that is about to become docker: as long as it lives, what it was given
 *     is reserved
 * @param engine the id of the engine that the container will be of, or its address; {@link
 *     Claim#HOST} for a process of the host
 * @param image of the container, or the program of the process
 * @param waiting for GPUs that are taken; who does not is refused
 */
public record LeaseRequest(
        GpuRequest request,
        Set<String> candidates,
        Owner owner,
        ProcessId client,
        String engine,
        String image,
        Optional<Waiting> waiting) {
    public LeaseRequest {
        candidates = Set.copyOf(candidates);
    }

    /** Of one that may be given any GPU. */
    public LeaseRequest(
            GpuRequest request,
            Owner owner,
            ProcessId client,
            String engine,
            String image,
            Optional<Waiting> waiting) {
        this(request, Set.of(), owner, client, engine, image, waiting);
    }

    /** A place in the queue for it, which has no number yet. */
    public Ticket ticket() {
        return new Ticket(0, client, owner, request, Instant.EPOCH, engine, image, candidates);
    }
}
