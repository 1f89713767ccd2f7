package jnvdocker.lease;

import jnvdocker.words.ForeignText;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * One GPU of a lease, over time.
 *
 * @param gpu its UUID
 * @param name of the container; of the image, program, task or pod as long as there is none
 * @param until empty while it lives
 * @param idle when the GPU was held and not used, to the hour, the earliest first
 */
public record LeaseBar(
        long lease,
        String gpu,
        Owner owner,
        String name,
        Instant since,
        Optional<Instant> until,
        List<Stretch> idle) {
    public LeaseBar {
        name = ForeignText.name(name);
        idle = List.copyOf(idle);
    }

    /** A part of the time. */
    public record Stretch(Instant from, Instant until) {}
}
