package jnvdocker.registry;

import jnvdocker.posix.Posix;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/** The clocks of a host: the wall clock, which may be set, and a monotonic one. */
public interface HostClock extends InstantSource {
    /** The clocks of this machine. */
    HostClock OF_THIS_MACHINE =
            new HostClock() {
                @Override
                public Instant instant() {
                    return Instant.now();
                }

                @Override
                public Duration sinceBoot() {
                    return Posix.timeSinceBoot();
                }
            };

    /** The time since this boot, also what the host has slept of it. */
    Duration sinceBoot();
}
