package jnvdocker.keeper;

import jnvdocker.decision.DecisionLog;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Pace;
import jnvdocker.lease.Lease;
import jnvdocker.posix.FileErrors;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * Stops holders that may keep their GPUs no longer, as their users would do it: the lease ends when
 * the holder is gone, as any other. Each is stopped on a thread of its own, since an engine may
 * take long.
 */
public final class HolderStops {
    private static final Logger LOG = LoggerFactory.getLogger(HolderStops.class);

    /** How soon a holder is stopped once more that goes on. */
    private static final Duration AGAIN = Duration.ofMinutes(5);

    private final Evidence evidence;
    private final ContainerEngine engine;
    private final DecisionLog log;
    private final Pace pace;

    public HolderStops(Evidence evidence, ContainerEngine engine, DecisionLog log, Pace pace) {
        this.evidence = evidence;
        this.engine = engine;
        this.log = log;
        this.pace = pace;
    }

    /**
     * Stops the holder of a lease, unless that was tried a short while ago. Does not wait for it.
     *
     * @param why for people: {@code the lease is overdue}
     */
    public void stop(Lease lease, String why) {
        if (evidence.memory(lease).isToBeStopped(pace.nanos(), AGAIN)) {
            Thread.ofVirtual().start(() -> stopNow(lease, why));
        }
    }

    private void stopNow(Lease lease, String why) {
        // The end may be seen while the engine is still at it.
        evidence.memory(lease).stopped(Optional.of(why));
        try {
            if (evidence.kind(lease).stop(lease, engine)) {
                log.stopped(lease, why);
            } else {
                evidence.memory(lease).stopped(Optional.empty());
            }
        } catch (IOException e) {
            evidence.memory(lease).stopped(Optional.empty());
            LOG.warn("lease {} goes on, though {}: {}", lease.id(), why, FileErrors.describe(e));
        }
    }
}
