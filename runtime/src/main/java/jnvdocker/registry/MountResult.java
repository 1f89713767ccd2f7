package jnvdocker.registry;

import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;

import java.util.List;

/** The result of a mount. */
public sealed interface MountResult {
    /** It was mounted, or cannot be, whatever the policy allows. */
    sealed interface Mounted extends MountResult {}

    record Granted(Lease lease) implements Mounted {}

    /** It would be a new lease, and the policy was not asked about these holdings. */
    record Undecided(Holdings now) implements MountResult {}

    /** Others have GPUs of the claim. */
    record Blocked(List<Lease> by) implements Mounted {}

    /**
     * The claim has a lease already: of an earlier start of its container, of one that runs, or of
     * another container that shares the claim.
     *
     * @param known whether it was taken by this very mount
     */
    record Another(Lease lease, boolean known) implements Mounted {}
}
