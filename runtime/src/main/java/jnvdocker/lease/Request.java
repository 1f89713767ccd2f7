package jnvdocker.lease;

import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.ForeignText;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * A client's request for GPUs, and its purpose.
 *
 * @param client the process that requests them: as long as it lives, it keeps its place in the
 *     queue, and what it was given is reserved
 * @param origin of the {@link Claim} that it becomes
 * @param container the name of the container that is to be started, or to be created; empty when it
 *     has none yet, or there is none
 */
public record Request(
        ProcessId client, Requested requested, Origin origin, Optional<String> container) {
    public Request {
        container = ForeignText.name(container);
        requested = requested.by(origin);
    }

    /** A request for no container. */
    public Request(
            GpuRequest request,
            Set<String> candidates,
            Owner owner,
            ProcessId client,
            Origin origin,
            Optional<Duration> time) {
        this(client, new Requested(request, owner, candidates, time), origin, Optional.empty());
    }

    /** The same request, for a container of that name. */
    public Request named(Optional<String> container) {
        return new Request(client, requested, origin, container);
    }

    /** The same request, for some GPUs alone. */
    public Request among(Set<String> uuids) {
        return new Request(client, requested.with(requested.request(), uuids), origin, container);
    }
}
