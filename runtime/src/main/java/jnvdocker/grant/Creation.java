package jnvdocker.grant;

import jnvdocker.holder.Pace;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holdings;
import jnvdocker.registry.SeenEnd;

import java.util.Optional;
import java.util.Set;

/**
 * A container that our runtime creates while its engine waits: the engine is not queried.
 *
 * @param earlier the end of another lease, in one step with the beginning of this one, so that
 *     nobody else can get in between: of its last start, or of a reservation that was made for it
 * @param had the UUIDs of those that it had, which it gets again where it may
 * @param scan of the host, begun since the request came
 * @param until when it has waited enough for ends of leases, in {@link Pace#nanos}
 */
public record Creation(
        Claim.ContainerRef container,
        Optional<SeenEnd> earlier,
        Set<String> had,
        Optional<FirstScan> scan,
        long until) {
    public Creation {
        had = Set.copyOf(had);
    }

    /** The same end, unless the lease has ended or changed since it was seen. */
    Optional<SeenEnd> earlier(Holdings holdings) {
        return earlier.filter(end ->
                holdings.ofClaim(end.lease().claim().id())
                        .filter(lease -> lease.isStill(end.lease()))
                        .isPresent());
    }
}
