package jnvdocker.lease;

import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;

import java.time.Instant;
import java.util.Set;

/**
 * A place in the queue of those who wait for GPUs.
 *
 * @param id its number: lower ones came before
 * @param client whose place it is, for as long as this process lives
 * @param engine as of the {@link Claim} that it becomes
 * @param image as of that claim
 * @param candidates the UUIDs of the only GPUs that it may be given; empty when it may any
 */
public record Ticket(
        long id,
        ProcessId client,
        Owner owner,
        GpuRequest request,
        Instant since,
        String engine,
        String image,
        Set<String> candidates) {
    public Ticket {
        candidates = Set.copyOf(candidates);
    }

    /** Whether a program of the host waits, under {@code gpu run}. */
    public boolean isOfProcess() {
        return engine.equals(Claim.HOST);
    }

    /** Whether a Mesos task waits. */
    public boolean isOfTask() {
        return engine.equals(Claim.MESOS);
    }
}
