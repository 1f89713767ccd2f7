package jnvdocker.registry;

import jnvdocker.lease.Lease;

import java.time.Instant;

/**
 * Notified of each lease that begins or ends, once that is on disk, by the thread that has written
 * it.
 */
public interface LeaseEvents {
    /** Ignores every event. */
    LeaseEvents NONE =
            new LeaseEvents() {
                @Override
                public void granted(Lease lease) {}

                @Override
                public void recovered(Lease lease) {}

                @Override
                public void released(Lease lease, Instant at, String evidence) {}
            };

    void granted(Lease lease);

    /** Given to a holder that already has the GPUs, after its own lease was lost. */
    void recovered(Lease lease);

    void released(Lease lease, Instant at, String evidence);
}
