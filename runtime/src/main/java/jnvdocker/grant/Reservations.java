package jnvdocker.grant;

import jnvdocker.holder.ProgramGroup;
import jnvdocker.keeper.ClaimRemover;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Request;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What becomes of GPUs that clients have reserved, unless docker mounts their claims. */
public final class Reservations {
    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Keeper keeper;
    private final ClaimRemover remover;

    /** Claims that a daemon before this one has reserved GPUs for. */
    private final Set<String> inherited = ConcurrentHashMap.newKeySet();

    public Reservations(
            LeaseRegistry registry, ClaimFiles files, Keeper keeper, ClaimRemover remover)
            throws IOException {
        this.registry = registry;
        this.files = files;
        this.keeper = keeper;
        this.remover = remover;
        registry.live().stream()
                .filter(Lease::isReservation)
                .forEach(lease -> inherited.add(lease.claim().id()));
    }

    /**
     * The GPUs that this very process has reserved already: it repeats its request, after a daemon
     * that could no longer answer it.
     */
    Optional<Lease> earlier(Request request) throws RefusedException, IOException {
        Optional<Lease> same = Optional.empty();
        if (inherited.isEmpty()) {
            return same;
        }
        for (Lease lease : registry.live()) {
            Claim claim = lease.claim();
            if (lease.isReservation()
                    && lease.holder().process().equals(request.client())
                    && inherited.remove(claim.id())) {
                if (same.isEmpty() && claim.origin().equals(request.origin())) {
                    write(claim);
                    same = Optional.of(lease);
                } else {
                    cancel(claim);
                }
            }
        }
        return same;
    }

    /**
     * Writes the files of a claim that was just made.
     *
     * @throws RefusedException when its reservation was ended meanwhile: when its claim was
     *     forgotten, too, nothing would delete the files
     */
    void write(Claim claim) throws RefusedException, IOException {
        if (!claim.origin().isKnownToDocker()) {
            return;
        }
        files.write(claim);
        if (registry.liveOf(claim.id()).isEmpty()) {
            files.delete(claim.id());
            throw new RefusedException(
                    "the reservation of claim "
                            + claim.id()
                            + " was ended before it could be used (see 'jnvdocker gpu leases"
                            + " --all')",
                    "try again");
        }
    }

    /**
     * The client keeps the GPUs as the program that it is about to become, for as long as that or
     * anything it starts lives.
     *
     * @throws RefusedException when they are not the client's any more
     * @throws IOException when its children could not be watched
     */
    public void becomes(Claim claim, ProcessId client) throws RefusedException, IOException {
        // Should the registry be lost: each of the two shows which GPUs the process has.
        files.write(claim);
        String cgroup;
        try {
            cgroup = ProgramGroup.make(client, claim, files);
        } catch (IOException e) {
            files.delete(claim.id());
            throw e;
        }
        if (!becomes(claim, client, Holder.of(client, cgroup), Optional.empty())) {
            throw new RefusedException(
                    "the reservation of "
                            + LeaseText.command(claim, client)
                            + " was ended before its command began (see 'jnvdocker gpu leases"
                            + " --all')",
                    "try again");
        }
    }

    /**
     * The GPUs that the client has reserved are the Mesos container's, for as long as anything of
     * it lives.
     */
    public void becomes(Claim claim, ProcessId client, Claim.ContainerRef container, Holder holder)
            throws RefusedException, IOException {
        if (!becomes(claim, client, holder, Optional.of(container))) {
            throw new RefusedException(
                    "the reservation of "
                            + LeaseText.command(claim, client)
                            + " was ended before it began (see 'jnvdocker gpu leases --all')",
                    "start it again");
        }
    }

    private boolean becomes(
            Claim claim, ProcessId client, Holder holder, Optional<Claim.ContainerRef> container)
            throws IOException {
        return registry.decide(leases -> {
            Optional<Lease> own =
                    leases.live(claim.id())
                            .filter(Lease::isOfClient)
                            .filter(lease -> lease.holder().process().equals(client));
            own.ifPresent(lease -> {
                container.ifPresent(it -> leases.name(claim.id(), it));
                leases.hold(lease, holder);
            });
            return own.isPresent();
        });
    }

    /** Cancels the reservation of a client that does not become docker. */
    public void cancel(Claim claim) throws IOException {
        String what =
                switch (claim.origin().kind()) {
                    case ENGINE -> "docker";
                    case PROCESS -> "its command";
                    case MESOS, OCI, POD -> "it";
                };
        cancel(claim, what + " was not run");
    }

    /** Cancels a reservation, and the claim with it unless docker knows that. */
    public void cancel(Claim claim, String why) throws IOException {
        Optional<Lease> lease = registry.liveOf(claim.id());
        if (lease.filter(Lease::isReservation).isPresent()) {
            keeper.endUnused(lease.get(), why);
        }
        if (!registry.claims().hasVolume(claim.id())) {
            remover.remove(claim.id());
        }
    }
}
