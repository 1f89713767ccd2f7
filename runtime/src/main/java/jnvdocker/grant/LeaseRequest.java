package jnvdocker.grant;

import jnvdocker.holder.Pace;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Ticket;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;

/**
 * A client that requests GPUs, and its purpose.
 *
 * @param candidates the UUIDs of the only GPUs that it may be given; empty when it may any
 * @param client the process that is about to become docker: as long as it lives, what it was given
 *     is reserved
 * @param origin of the claim that it becomes
 * @param waiting for GPUs that are taken; without it, the request is refused
 * @param creation of the container that our OCI runtime is to create; empty for all others
 * @param time how long the GPUs are wanted, if the user says so
 * @param container the name of the container that waits to be started, if it has one already
 */
public record LeaseRequest(
        GpuRequest request,
        Set<String> candidates,
        Owner owner,
        ProcessId client,
        Origin origin,
        Optional<Waiting> waiting,
        Optional<Creation> creation,
        Optional<Duration> time,
        Optional<String> container) {
    public LeaseRequest {
        candidates = Set.copyOf(candidates);
    }

    /**
     * A container that our runtime creates while its engine waits: the engine is not queried.
     *
     * @param earlier a lease that ends when this one begins: of its last start, or a reservation
     *     that was made for it
     * @param had the UUIDs of those that it had, which it gets again where it may
     * @param scan of the host, begun since the request came
     * @param until when it has waited enough for ends of leases, in {@link Pace#nanos}
     */
    public record Creation(
            Claim.ContainerRef container,
            Optional<Over> earlier,
            Set<String> had,
            Optional<FirstScan> scan,
            long until) {
        public Creation {
            had = Set.copyOf(had);
        }
    }

    /**
     * A lease that ends when another begins, so that nobody else can get in between.
     *
     * @param evidence of the end
     */
    public record Over(Lease lease, String evidence) {}

    /** A request for which an engine may be queried. */
    public LeaseRequest(
            GpuRequest request,
            Set<String> candidates,
            Owner owner,
            ProcessId client,
            Origin origin,
            Optional<Waiting> waiting,
            Optional<Duration> time) {
        this(
                request,
                candidates,
                owner,
                client,
                origin,
                waiting,
                Optional.empty(),
                time,
                Optional.empty());
    }

    /** The owner of the GPUs. */
    Holder holder() {
        return creation.isPresent() ? Holder.created(client) : Holder.reserved(client);
    }

    /** A request, if it is kept for as long as a container of its origin exists. */
    static Optional<GpuRequest> kept(Origin origin, GpuRequest request) {
        return switch (origin) {
            case Origin.OciContainer _ -> Optional.of(request);
            case Origin.EngineContainer _, Origin.HostProcess _, Origin.MesosTask _, Origin.Pod _ ->
                    Optional.empty();
        };
    }

    /** A place in the queue for it, which has no number yet. */
    public Ticket ticket(int priority) {
        return new Ticket(
                0,
                client,
                owner,
                request,
                Instant.EPOCH,
                origin,
                candidates,
                time,
                priority,
                container);
    }
}
