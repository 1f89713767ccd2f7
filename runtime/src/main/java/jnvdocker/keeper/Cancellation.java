package jnvdocker.keeper;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.util.Optional;

/** Cancels a client's reservation, and the claim with it unless docker knows that. */
public final class Cancellation {
    private final LeaseRegistry registry;
    private final Keeper keeper;
    private final ClaimRemover remover;

    public Cancellation(LeaseRegistry registry, Keeper keeper, ClaimRemover remover) {
        this.registry = registry;
        this.keeper = keeper;
        this.remover = remover;
    }

    public void of(Claim claim, String why) throws IOException {
        Optional<Lease> lease = registry.liveOf(claim.id());
        if (lease.filter(Lease::isReservation).isPresent()) {
            keeper.endUnused(lease.get(), why);
        }
        if (!registry.claims().hasVolume(claim.id())) {
            remover.remove(claim.id());
        }
    }
}
