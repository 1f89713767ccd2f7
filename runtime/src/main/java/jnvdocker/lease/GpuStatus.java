package jnvdocker.lease;

import jnvdocker.host.Gpu;

import java.time.Instant;
import java.util.Optional;

/**
 * What is known of one GPU now.
 *
 * @param lease under which it is held; empty when it is free
 * @param idleSince when it was last given back; empty when it is held, or never was
 * @param note for people, empty when there is nothing to say
 */
public record GpuStatus(
        Gpu gpu, State state, Optional<Lease> lease, Optional<Instant> idleSince, String note) {

    /** What can be done with a GPU. */
    public enum State {
        FREE,
        /** For a docker run that has not started its container yet. */
        RESERVED,
        HELD,
        /** Its container was killed and does not end. */
        STUCK,
        /** The driver can't talk to it. */
        SICK,
        /** It is held, and the driver does not show it. */
        MISSING
    }
}
