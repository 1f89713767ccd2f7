package jnvdocker.decision;

import jnvdocker.lease.Owner;
import jnvdocker.registry.LeaseEvents;
import jnvdocker.words.Refusal;

/** Is notified of each decision by the thread that has made it, which must not wait. */
public interface DecisionListener extends LeaseEvents {
    /**
     * GPUs were requested and not given.
     *
     * @param purpose the container, or the command of a user: {@code container train-7}
     */
    void refused(Owner owner, String purpose, Refusal why, RefusalReason reason);
}
