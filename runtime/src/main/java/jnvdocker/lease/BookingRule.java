package jnvdocker.lease;

import java.time.Duration;

/**
 * Whether users may book GPUs, by the configuration.
 *
 * @param kind what the bookings of others mean for a request
 * @param longest for how long a user other than root may book GPUs
 */
public record BookingRule(Kind kind, Duration longest) {
    /** Nobody books. */
    public static final BookingRule NONE = new BookingRule(Kind.NONE, Duration.ofDays(7));

    /** What a booking means for a request that comes before its time, and may outlast that. */
    public enum Kind {
        /** There are no new bookings; those that were made count as {@link #END}. */
        NONE,
        /** It gets the GPU until the booking begins. */
        END,
        /** It does not get the GPU. */
        REFUSE
    }
}
