package jnvdocker.grant;

import jnvdocker.lease.Allowance;

import java.time.Duration;
import java.time.Instant;

/**
 * What a user may have, and has.
 *
 * @param gpus held now, reservations included
 */
public record Standing(Allowance allowance, int gpus, Hours day, Hours week) {
    /**
     * GPU-hours of this day or week.
     *
     * @param until when the next one begins
     */
    public record Hours(Duration used, Instant until) {}
}
