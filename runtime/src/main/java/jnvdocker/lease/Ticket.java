package jnvdocker.lease;

import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.ForeignText;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;
import java.util.Set;

/**
 * A place in the queue of the clients that wait for GPUs.
 *
 * @param id its number: lower ones came before
 * @param client the process that has the place, for as long as it lives
 * @param origin of the {@link Claim} that it becomes
 * @param candidates the UUIDs of the only GPUs that it may be given; empty when it may any
 * @param time how long it wants them, if it says so
 * @param priority those with a higher one come first, whenever they came
 * @param container the name of the container that waits to be started; empty when it is still to be
 *     created, or none
 */
public record Ticket(
        long id,
        ProcessId client,
        Owner owner,
        GpuRequest request,
        Instant since,
        Origin origin,
        Set<String> candidates,
        Optional<Duration> time,
        int priority,
        Optional<String> container)
        implements Kept {
    /** The order in which tickets are served. */
    public static final Comparator<Ticket> ORDER =
            Comparator.comparingInt(Ticket::priority).reversed().thenComparingLong(Ticket::id);

    public Ticket {
        candidates = Set.copyOf(candidates);
        container = ForeignText.name(container);
    }

    /** The same place, as the clock counts that was set meanwhile. */
    public Ticket movedBy(Duration clock) {
        return new Ticket(
                id,
                client,
                owner,
                request,
                since.plus(clock),
                origin,
                candidates,
                time,
                priority,
                container);
    }

    /** What it waits for. */
    public Requested requested() {
        return new Requested(request, owner, candidates, time, isScheduled());
    }

    /** Whether it is a scheduler that waits, and not a user. */
    public boolean isScheduled() {
        return origin.isScheduled();
    }
}
