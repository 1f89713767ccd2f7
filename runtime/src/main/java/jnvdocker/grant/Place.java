package jnvdocker.grant;

import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Scope;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.lease.text.LastingText;
import jnvdocker.registry.Changes;
import jnvdocker.supply.Standing;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * A client's place in the queue: the lease or the refusal that it gets, and its standing until
 * then.
 */
public final class Place {
    private volatile Ticket ticket;

    /** When the boot began, by the clock that the ticket's time is of. */
    private Instant boot;

    /** The time by the pace at which the wait began, maybe for the daemon before this one. */
    private final long began;

    /**
     * The time by the pace at which the client gives up, or has to; the place from an earlier
     * daemon has none.
     */
    private final long deadline;

    private final boolean present;
    private final Changes news = new Changes();
    private Optional<Lease> lease = Optional.empty();
    private Optional<Refusal> refusal = Optional.empty();
    private boolean over;
    private volatile boolean stopped;
    private volatile Optional<Standing> standing = Optional.empty();

    /**
     * A client's standing in the queue.
     *
     * @param number counted from 1
     * @param reason the holders of the GPUs that it waits for
     * @param obstacle why others are served meanwhile; empty when they are not
     * @param unnamed the part of the obstacle that the reason does not name; empty when it names
     *     all
     */
    public record Standing(int number, String reason, Optional<String> obstacle, String unnamed) {
        /** The standing of a client that is served before those behind it. */
        static Standing inTurn(int number, Outcome.Busy others) {
            return new Standing(number, ChoiceText.reasonToWait(others), Optional.empty(), "");
        }

        /** The standing of a client that others pass, since they cannot remove its obstacles. */
        static Standing passed(int number, Outcome.Busy others, Scope lasting) {
            return new Standing(
                    number,
                    ChoiceText.reasonToWait(others),
                    Optional.of(LastingText.of(lasting)),
                    LastingText.besides(others, lasting));
        }

        /** The standing of a client that cannot be served as things are. */
        static Standing passed(int number, Refusal why, Scope lasting) {
            String all = LastingText.of(lasting);
            return new Standing(number, why.message(), Optional.of(all), all);
        }

        /** The standing of a client that others pass for the same reason for which it waits. */
        static Standing passed(int number, String reason) {
            return new Standing(number, reason, Optional.of(reason), "");
        }
    }

    private Place(Ticket ticket, Instant boot, boolean present, long began, long deadline) {
        this.ticket = ticket;
        this.boot = boot;
        this.present = present;
        this.began = began;
        this.deadline = deadline;
    }

    /**
     * The place of a client that has sent its request to this daemon.
     *
     * @param boot when the boot began, by the clock that the ticket's time is of
     */
    static Place of(Ticket ticket, Instant boot, long began, long deadline) {
        return new Place(ticket, boot, true, began, deadline);
    }

    /** The place of a client that has not, and may come back. */
    static Place absent(Ticket ticket, Instant boot) {
        return new Place(ticket, boot, false, 0, Long.MAX_VALUE);
    }

    /** The place when its client is gone, but may come back. */
    synchronized Place absent() {
        return absent(ticket, boot);
    }

    /** Moves the ticket's time with the clock, as those of leases are. */
    synchronized void follow(Instant began) {
        if (!began.equals(boot)) {
            ticket = ticket.movedBy(Duration.between(boot, began));
            boot = began;
        }
    }

    public Ticket ticket() {
        return ticket;
    }

    long began() {
        return began;
    }

    long id() {
        return ticket.id();
    }

    boolean isPresent() {
        return present;
    }

    /** Whether its GPUs are kept, and not given: its client requests them again and again. */
    boolean isRequestedAgain() {
        return ticket.request().origin().isRequestedAgain();
    }

    /** Whether the time for the wait is up. */
    boolean isOverdue(long now) {
        return present && deadline != Long.MAX_VALUE && now - deadline > 0;
    }

    /** Whether the client is stopped (SIGSTOP), and so could not take anything. */
    boolean isStopped() {
        return stopped;
    }

    /**
     * Records whether the client is stopped.
     *
     * @return whether it is news
     */
    boolean setStopped(boolean now) {
        boolean changed = now != stopped;
        stopped = now;
        return changed;
    }

    /** Whether the client waits and has been given nothing. */
    synchronized boolean isOpen() {
        return !over && lease.isEmpty() && refusal.isEmpty();
    }

    /**
     * Gives the client its lease.
     *
     * @return false if the client no longer waits: the lease is still the caller's
     */
    synchronized boolean give(Lease given) {
        if (!isOpen()) {
            return false;
        }
        lease = Optional.of(given);
        news.add();
        return true;
    }

    /** Refuses a client that can never be served. */
    synchronized void refuse(Refusal why) {
        if (isOpen()) {
            refusal = Optional.of(why);
            news.add();
        }
    }

    /** Ends the wait; a lease that was granted meanwhile belongs to the caller. */
    synchronized Optional<Lease> close() {
        over = true;
        news.add();
        Optional<Lease> given = lease;
        lease = Optional.empty();
        return given;
    }

    /** Whether nobody waits here any more. */
    synchronized boolean isOver() {
        return over;
    }

    /** The lease that the client has been given. */
    synchronized Optional<Lease> given() throws RefusedException {
        if (refusal.isPresent()) {
            throw new RefusedException(refusal.get());
        }
        return lease;
    }

    /** The lease turned out to be void: the client waits again. */
    synchronized void giveBack() {
        lease = Optional.empty();
    }

    /** Informs the client, if its standing has changed. */
    void stand(Standing now) {
        if (!standing.equals(Optional.of(now))) {
            standing = Optional.of(now);
            news.add();
        }
    }

    public Optional<Standing> standing() {
        return standing;
    }

    /** Counts each change for the client. */
    Changes news() {
        return news;
    }
}
