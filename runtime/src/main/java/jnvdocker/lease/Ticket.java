package jnvdocker.lease;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;

/**
 * A place in the queue of the clients that wait for GPUs.
 *
 * @param id its number: lower ones came before
 * @param priority those with a higher one come first, whenever they came
 */
public record Ticket(long id, Request request, Instant since, int priority) implements Kept {
    /** The order in which tickets are served. */
    public static final Comparator<Ticket> ORDER =
            Comparator.comparingInt(Ticket::priority).reversed().thenComparingLong(Ticket::id);

    /** The same place, as the clock counts that was set meanwhile. */
    public Ticket movedBy(Duration clock) {
        return new Ticket(id, request, since.plus(clock), priority);
    }

    /** What it waits for. */
    public Requested requested() {
        return request.requested();
    }

    @Override
    public Owner owner() {
        return requested().owner();
    }
}
