package jnvdocker.registry;

import jnvdocker.posix.Posix;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/** The clocks of a host: one that anybody with the right to may set, and one that only passes. */
public interface HostClock extends InstantSource {
    /** Those of this machine. */
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

    /** One that nobody sets. */
    static HostClock steady(InstantSource clock) {
        return new HostClock() {
            @Override
            public Instant instant() {
                return clock.instant();
            }

            @Override
            public Duration sinceBoot() {
                return Duration.ofMillis(clock.millis());
            }
        };
    }
}
