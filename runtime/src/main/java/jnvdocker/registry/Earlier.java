package jnvdocker.registry;

import jnvdocker.lease.Lease;

/** The treatment of a lease that the claim may have already. */
public sealed interface Earlier {
    /** Not known yet. */
    record Unknown() implements Earlier {}

    /** It goes on: its container and this one are the same. */
    record GoesOn() implements Earlier {}

    /** It was of an earlier start, which is over. */
    record Over(Lease lease, String evidence) implements Earlier {}
}
