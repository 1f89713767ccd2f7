package jnvdocker.grant;

import jnvdocker.lease.Origin;
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
 * @param origin of the claim that it becomes
 * @param waiting for GPUs that are taken; who does not is refused
 */
public record LeaseRequest(
        GpuRequest request,
        Set<String> candidates,
        Owner owner,
        ProcessId client,
        Origin origin,
        Optional<Waiting> waiting) {
    public LeaseRequest {
        candidates = Set.copyOf(candidates);
    }

    /** Of one that may be given any GPU. */
    public LeaseRequest(
            GpuRequest request,
            Owner owner,
            ProcessId client,
            Origin origin,
            Optional<Waiting> waiting) {
        this(request, Set.of(), owner, client, origin, waiting);
    }

    /** A place in the queue for it, which has no number yet. */
    public Ticket ticket() {
        return new Ticket(
                0, client, owner, request, Instant.EPOCH, Optional.of(origin), candidates);
    }
}
