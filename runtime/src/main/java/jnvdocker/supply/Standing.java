package jnvdocker.supply;

import jnvdocker.lease.Allowance;

import java.time.Duration;
import java.time.Instant;

/**
 * What a user may have, and has.
 *
 * @param gpus held now, or kept after a stop, reservations included; shares count as their parts of
 *     the GPUs' memory
 */
public record Standing(Allowance allowance, double gpus, Hours day, Hours week) {
    /**
     * GPU-hours of this day or week.
     *
     * @param until when the next one begins
     */
    public record Hours(Duration used, Instant until) {}
}
