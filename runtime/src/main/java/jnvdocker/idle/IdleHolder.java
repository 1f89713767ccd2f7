package jnvdocker.idle;

import jnvdocker.host.Gpu;
import jnvdocker.lease.IdleSource;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Rule;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A GPU that a container or a program holds and does not use.
 *
 * @param lease under which it is held
 * @param isShared whether others have shares of it, who may use it meanwhile
 * @param since when it was last in use, or its container began
 * @param atLeast whether it may have been idle before that: no sample was taken then
 * @param longest the limit for how long it may be idle before its holder is stopped; empty for ever
 * @param memory bytes that the GPU's processes have of it meanwhile, of a shared one the holder's;
 *     empty where NVML does not report it
 */
public record IdleHolder(
        Gpu gpu,
        Lease lease,
        boolean isShared,
        IdleSource source,
        Instant since,
        boolean atLeast,
        Optional<Rule<Duration>> longest,
        OptionalLong memory) {

    /** Returns for how long it has been idle. */
    public Duration time(Instant now) {
        return Duration.between(since, now);
    }
}
