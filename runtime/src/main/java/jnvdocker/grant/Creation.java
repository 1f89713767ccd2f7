package jnvdocker.grant;

import jnvdocker.holder.Pace;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;

import java.util.Optional;
import java.util.Set;

/**
 * A container that our runtime creates while its engine waits: the engine is not queried.
 *
 * @param earlier a lease that ends when this one begins: of its last start, or a reservation that
 *     was made for it
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

    /**
     * A lease that ends when another begins, so that nobody else can get in between.
     *
     * @param evidence of the end
     */
    public record Over(Lease lease, String evidence) {}

    /** The lease that ends when this begins, unless it has ended or changed since it was seen. */
    Optional<Over> earlier(Holdings holdings) {
        return earlier.filter(over ->
                holdings.ofClaim(over.lease().claim().id())
                        .filter(lease -> lease.isStill(over.lease()))
                        .isPresent());
    }
}
