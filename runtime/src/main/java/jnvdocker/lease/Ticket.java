package jnvdocker.lease;

import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;

import java.time.Instant;
import java.util.Set;

/**
 * A place in the queue of those who wait for GPUs.
 *
 * @param id its number: lower ones came before
 * @param client the process that has the place, for as long as it lives
 * @param origin of the {@link Claim} that it becomes
 * @param candidates the UUIDs of the only GPUs that it may be given; empty when it may any
 */
public record Ticket(
        long id,
        ProcessId client,
        Owner owner,
        GpuRequest request,
        Instant since,
        Origin origin,
        Set<String> candidates) {
    public Ticket {
        candidates = Set.copyOf(candidates);
    }

    /** Whether it is a scheduler that waits, and not a user. */
    public boolean isScheduled() {
        return origin.isScheduled();
    }
}
