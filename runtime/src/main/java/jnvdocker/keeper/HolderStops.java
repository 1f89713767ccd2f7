package jnvdocker.keeper;

import jnvdocker.decision.DecisionLog;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Memory;
import jnvdocker.holder.Pace;
import jnvdocker.holder.Periodic;
import jnvdocker.lease.Lease;
import jnvdocker.posix.FileErrors;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Stops holders that may keep their GPUs no longer, as their users would do it: the lease ends when
 * the holder is gone, as any other. A thread watches the leases with limited time: it reports when
 * the end is near, and when it has passed; then, if the configuration wants that, it has the holder
 * stopped. Others have theirs stopped for other reasons.
 */
public final class HolderStops {
    private static final Logger LOG = LoggerFactory.getLogger(HolderStops.class);

    private static final Duration PERIOD = Duration.ofSeconds(5);

    /** How soon a holder is stopped once more that goes on. */
    private static final Duration AGAIN = Duration.ofMinutes(5);

    /** How long before the end a warning is given, the longest first. */
    private static final List<Duration> WARNINGS =
            List.of(Duration.ofMinutes(30), Duration.ofMinutes(5), Duration.ZERO);

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final ContainerEngine engine;
    private final DecisionLog log;
    private final Pace pace;

    public HolderStops(
            LeaseRegistry registry,
            Evidence evidence,
            ContainerEngine engine,
            DecisionLog log,
            Pace pace) {
        this.registry = registry;
        this.evidence = evidence;
        this.engine = engine;
        this.log = log;
        this.pace = pace;
    }

    /**
     * Watches the leases with limited time, until it is closed.
     *
     * @param stopping whether holders are stopped, as the configuration says at each moment
     */
    public AutoCloseable start(BooleanSupplier stopping) {
        return new Periodic("overdue", PERIOD, () -> tick(stopping.getAsBoolean()))
                .in(pace)
                .failing("cannot check for overdue leases")
                .start();
    }

    /**
     * Checks all leases once.
     *
     * @param stopping whether holders of overdue leases are stopped
     */
    void tick(boolean stopping) throws IOException {
        Instant now = registry.now();
        for (Lease lease : registry.live()) {
            lease.due().ifPresent(due -> warn(lease, due, now));
            if (stopping && lease.isOverdue(now) && !lease.isOfClient()) {
                stop(lease, "the lease is overdue");
            }
        }
    }

    /**
     * Gives the latest warning that is due and was not given; an extended lease gets them again.
     */
    private void warn(Lease lease, Instant due, Instant now) {
        Memory memory = evidence.memory(lease);
        Optional<Memory.Warned> before = memory.warned().filter(it -> it.due().equals(due));
        Duration left = lease.left(now).orElseThrow();
        int passed = (int) WARNINGS.stream().filter(time -> left.compareTo(time) <= 0).count();
        // A daemon that has just started, or a lease that is shorter, needs no warning in advance.
        boolean first = before.isEmpty() && passed < WARNINGS.size();
        if (passed > before.map(Memory.Warned::warnings).orElse(0) && !first) {
            log.due(lease, left);
        }
        memory.warned(new Memory.Warned(due, passed));
    }

    /**
     * Stops the holder of a lease, unless that was tried a short while ago. Does not wait for it:
     * an engine may take long.
     *
     * @param why for people: {@code the lease is overdue}
     */
    public void stop(Lease lease, String why) {
        if (evidence.memory(lease).isToBeStopped(pace.nanos(), AGAIN)) {
            Thread.ofVirtual().start(() -> stopNow(lease, why));
        }
    }

    private void stopNow(Lease lease, String why) {
        Memory memory = evidence.memory(lease);
        // The end may be seen while the engine is still at it.
        memory.stopped(Optional.of(why));
        try {
            if (evidence.kind(lease).stop(lease, engine)) {
                log.stopped(lease, why);
            } else {
                memory.stopped(Optional.empty());
            }
        } catch (IOException e) {
            memory.stopped(Optional.empty());
            LOG.warn("lease {} goes on, though {}: {}", lease.id(), why, FileErrors.describe(e));
        }
    }
}
