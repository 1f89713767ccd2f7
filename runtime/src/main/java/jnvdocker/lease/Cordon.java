package jnvdocker.lease;

import jnvdocker.words.ForeignText;

import java.time.Instant;

/** Why a GPU gets no new lease though it is free. A holder keeps it. */
public sealed interface Cordon {
    /**
     * {@code jnvdocker gpu cordon}.
     *
     * @param reason in the administrator's own words; may be empty
     */
    record ByCommand(Owner owner, Instant since, String reason) implements Cordon {
        public ByCommand {
            reason = ForeignText.name(reason);
        }
    }

    /** The configuration. */
    record ByFile() implements Cordon {}
}
