package jnvdocker.registry;

import jnvdocker.lease.Lease;

/**
 * The end of a lease that was seen, and is to be written.
 *
 * @param lease as it was seen: by now it may have ended, or be another start's
 */
public record SeenEnd(Lease lease, String evidence, Ground ground) {
    /** The end of a lease of which nothing is left. */
    public static SeenEnd gone(Lease lease, String evidence) {
        return new SeenEnd(lease, evidence, Ground.GONE);
    }
}
