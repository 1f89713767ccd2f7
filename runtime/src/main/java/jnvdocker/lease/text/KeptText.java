package jnvdocker.lease.text;

import jnvdocker.lease.AfterStop;
import jnvdocker.lease.Booking;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Kept;
import jnvdocker.lease.Ticket;
import jnvdocker.words.Quote;

import java.time.Instant;

/** Describes for whom a GPU is kept that nobody holds. */
public final class KeptText {
    private KeptText() {}

    /**
     * {@code kept for bob (pid 4711), waiting for 4 GPUs since 09:12}, {@code kept for bob's Mesos
     * task train (pid 4711), waiting for …}, {@code kept for bob until 09:12, since container
     * train-7 has stopped}, or as a booking.
     */
    public static String of(Kept kept) {
        return by(kept).toString();
    }

    static HoldersText.By by(Kept kept) {
        return switch (kept) {
            case Ticket ticket -> by(ticket);
            case AfterStop stop ->
                    new HoldersText.By(
                            "kept for "
                                    + Quote.shown(stop.owner().name())
                                    + " until "
                                    + LeaseText.time(stop.until()),
                            ", since container " + Quote.shown(stop.name()) + " has stopped");
            case Booking booking -> new HoldersText.By(of(booking), "");
        };
    }

    /** {@code booked for bob until 09:12}, with its beginning while that is to come. */
    public static String of(Booking booking) {
        return "booked for "
                + Quote.shown(booking.owner().name())
                + (booking.from().isAfter(Instant.now())
                        ? " from " + LeaseText.time(booking.from())
                        : "")
                + " until "
                + LeaseText.time(booking.until());
    }

    private static HoldersText.By by(Ticket ticket) {
        return new HoldersText.By(
                "kept for "
                        + Quote.shown(ticket.owner().name())
                        + HolderName.scheduled(ticket.request().origin())
                                .map(name -> "'s " + name)
                                .orElse("")
                        + " (pid "
                        + ticket.request().client().pid()
                        + ")",
                ", waiting for "
                        + LeaseText.requested(ticket.requested().request())
                        + " since "
                        + LeaseText.time(ticket.since()));
    }
}
