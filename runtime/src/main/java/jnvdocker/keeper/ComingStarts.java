package jnvdocker.keeper;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * The starts that are to come of a container that does not run, and of which its engine knows
 * nothing: somebody else is about to ask for them. A GPU is kept for each of them, for a while.
 */
final class ComingStarts {
    /**
     * How long compose may take to start what it has created: other services may have to be healthy
     * first. An interrupted compose starts nothing.
     */
    private static final Duration SUCCESSION = Duration.ofMinutes(10);

    /** How long the daemon may take to start what docker could not start. */
    private static final Duration MISSED = Duration.ofMinutes(1);

    private final ContainerEngine engine;
    private final String volumeDriver;

    /**
     * @param volumeDriver the name of our volume plugin
     */
    ComingStarts(ContainerEngine engine, String volumeDriver) {
        this.engine = engine;
        this.volumeDriver = volumeDriver;
    }

    /**
     * Returns who is about to start the container of a lease, or another one in its place.
     *
     * @param passed since it was first seen that nothing of the container runs
     */
    Optional<String> of(Lease lease, Duration passed, Duration limit) throws IOException {
        Optional<String> missed = missed(lease, passed, limit);
        return missed.isPresent() || lease.claim().origin().runtimeRoot().isEmpty()
                ? missed
                : successor(lease, passed, limit);
    }

    /** The same of a container that compose starts in place of that of a lease. */
    Optional<String> successor(Lease lease, Duration passed, Duration limit) throws IOException {
        Optional<Claim.ContainerRef> own = lease.claim().container();
        return own.isPresent()
                        && passed.compareTo(SUCCESSION) < 0
                        && engine.hasSuccessor(own.get(), limit)
                ? Optional.of("compose is about to start another in its place")
                : Optional.empty();
    }

    /** The same of what docker could not start for want of the daemon or of the driver. */
    private Optional<String> missed(Lease lease, Duration passed, Duration limit)
            throws IOException {
        Optional<Claim.ContainerRef> own = lease.claim().container();
        if (own.isEmpty() || passed.compareTo(MISSED) >= 0) {
            return Optional.empty();
        }
        return engine.down(own.get().id(), limit)
                .flatMap(it -> it.lacked(volumeDriver))
                .map(lack -> "jnvdockerd starts it again: " + lack);
    }
}
