package jnvdocker.lease;

import java.time.Instant;
import java.util.Optional;

/**
 * For how long a container has had GPUs, over all its starts as far as the history goes.
 *
 * @param since the beginning of its first lease, or of its process where that lease was lost
 * @param restarts how many leases it has had besides the first
 */
public record Tenure(Instant since, int restarts) {
    /** A copy that begins with its process, if that began earlier. */
    public Tenure from(Optional<Instant> process) {
        return process.filter(since::isAfter)
                .map(start -> new Tenure(start, restarts))
                .orElse(this);
    }
}
