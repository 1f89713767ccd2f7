package jnvdocker.keeper;

import jnvdocker.decision.DecisionLog;
import jnvdocker.holder.Pace;
import jnvdocker.holder.Periodic;
import jnvdocker.lease.Lease;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * Watches the leases with limited time. It reports when the end is near, and when it has passed;
 * then, if the configuration wants that, it has the holder stopped. The lease ends when the holder
 * is gone, as any other. A thread of its own checks every few seconds.
 */
public final class OverdueKeeper {
    private static final Duration PERIOD = Duration.ofSeconds(5);

    /** How long before the end a warning is given, the longest first. */
    private static final List<Duration> WARNINGS =
            List.of(Duration.ofMinutes(30), Duration.ofMinutes(5), Duration.ZERO);

    private final LeaseRegistry registry;
    private final HolderStops stops;
    private final DecisionLog log;
    private final Pace pace;

    /** How many warnings were given for the end of a lease. */
    private record Known(Instant due, int warnings) {}

    private final Map<Long, Known> known = new HashMap<>();

    public OverdueKeeper(LeaseRegistry registry, HolderStops stops, DecisionLog log, Pace pace) {
        this.registry = registry;
        this.stops = stops;
        this.log = log;
        this.pace = pace;
    }

    /**
     * Checks all leases once.
     *
     * @param stopping whether holders of overdue leases are stopped
     */
    void tick(boolean stopping) throws IOException {
        Instant now = registry.now();
        List<Lease> limited =
                registry.live().stream().filter(lease -> lease.due().isPresent()).toList();
        known.keySet().retainAll(limited.stream().map(Lease::id).collect(Collectors.toSet()));
        for (Lease lease : limited) {
            known.put(lease.id(), warned(lease, now));
            if (stopping && lease.isOverdue(now) && !lease.isOfClient()) {
                stops.stop(lease, "the lease is overdue");
            }
        }
    }

    /**
     * Gives the latest warning that is due and was not given; an extended lease gets them again.
     */
    private Known warned(Lease lease, Instant now) {
        Instant due = lease.due().orElseThrow();
        Known before = known.get(lease.id());
        Duration left = lease.left(now).orElseThrow();
        int passed = (int) WARNINGS.stream().filter(time -> left.compareTo(time) <= 0).count();
        boolean isNew = before == null || !before.due().equals(due);
        // A daemon that has just started, or a lease that is shorter, needs no warning in advance.
        boolean first = isNew && passed < WARNINGS.size();
        if (passed > (isNew ? 0 : before.warnings()) && !first) {
            log.due(lease, left);
        }
        return new Known(due, passed);
    }

    /**
     * Does all of that by itself, until it is closed.
     *
     * @param stopping whether holders are stopped, as the configuration says at each moment
     */
    public AutoCloseable start(BooleanSupplier stopping) {
        return new Periodic("overdue", PERIOD, () -> tick(stopping.getAsBoolean()))
                .in(pace)
                .failing("cannot check for overdue leases")
                .start();
    }
}
