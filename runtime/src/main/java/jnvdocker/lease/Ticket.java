package jnvdocker.lease;

import jnvdocker.container.GpuRequest;
import jnvdocker.host.Gpu;
import jnvdocker.process.ProcessId;

import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A place in the line of those who wait for GPUs.
 *
 * @param id its number: lower ones came before
 * @param client whose place it is, for as long as this process lives
 * @param candidates the UUIDs of the only GPUs that it may be given; empty when it may any, or when
 *     it has not asked this daemon yet
 */
public record Ticket(
        long id,
        ProcessId client,
        Owner owner,
        GpuRequest request,
        Instant since,
        Set<String> candidates) {
    public Ticket {
        candidates = Set.copyOf(candidates);
    }

    /** Of a client that may be given any GPU. */
    public Ticket(long id, ProcessId client, Owner owner, GpuRequest request, Instant since) {
        this(id, client, owner, request, since, Set.of());
    }

    Ticket among(List<Gpu> gpus) {
        Set<String> uuids = gpus.stream().map(Gpu::uuid).collect(Collectors.toSet());
        return new Ticket(id, client, owner, request, since, uuids);
    }

    boolean mayHave(Gpu gpu) {
        return candidates.isEmpty() || candidates.contains(gpu.uuid());
    }
}
