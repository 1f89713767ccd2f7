package jnvdocker.grant;

import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Obstacle;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.registry.Changes;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.Optional;

/**
 * Somebody's place in the queue: what whoever serves the queue has for him, and what he is told
 * meanwhile.
 */
final class Place {
    private final Ticket ticket;

    /**
     * Until when he wants to wait, or may, by the pace; the place of an earlier daemon's has none.
     */
    private final long deadline;

    private final boolean present;
    private final Changes news = new Changes();
    private Optional<Claim> claim = Optional.empty();
    private Optional<Refusal> refusal = Optional.empty();
    private boolean over;
    private volatile boolean stopped;
    private volatile Optional<Standing> standing = Optional.empty();

    /**
     * How somebody stands in the queue.
     *
     * @param number counted from 1
     * @param reason the holders of the GPUs that he waits for
     * @param obstacle why others are served meanwhile; empty when they are not
     * @param untold the part of the obstacle that the reason does not name; empty when it names all
     */
    record Standing(int number, String reason, Optional<String> obstacle, String untold) {
        /** Of one who is served before those behind him. */
        static Standing inTurn(int number, GpuChoice.Busy others) {
            return new Standing(number, ChoiceText.reason(others), Optional.empty(), "");
        }

        /** Of one whom others pass, since what is in his way is not theirs to give back. */
        static Standing passed(int number, GpuChoice.Busy others, List<Obstacle> obstacles) {
            List<Obstacle> untold =
                    obstacles.stream().filter(it -> !ChoiceText.names(others, it)).toList();
            return new Standing(
                    number,
                    ChoiceText.reason(others),
                    Optional.of(ChoiceText.obstacles(obstacles)),
                    !obstacles.isEmpty() && untold.isEmpty() ? "" : ChoiceText.obstacles(untold));
        }

        /** Of one who cannot have anything as things are. */
        static Standing passed(int number, Refusal why, List<Obstacle> obstacles) {
            String all = ChoiceText.obstacles(obstacles);
            return new Standing(number, why.message(), Optional.of(all), all);
        }

        /** Of one whom others pass for the very reason that he waits. */
        static Standing passed(int number, String reason) {
            return new Standing(number, reason, Optional.of(reason), "");
        }
    }

    private Place(Ticket ticket, boolean present, long deadline) {
        this.ticket = ticket;
        this.present = present;
        this.deadline = deadline;
    }

    /** Of one who has asked this daemon. */
    static Place of(Ticket ticket, long deadline) {
        return new Place(ticket, true, deadline);
    }

    /** Of one who has not, and may come back. */
    static Place absent(Ticket ticket) {
        return new Place(ticket, false, Long.MAX_VALUE);
    }

    Ticket ticket() {
        return ticket;
    }

    long id() {
        return ticket.id();
    }

    boolean isPresent() {
        return present;
    }

    /** Whether his time is up. */
    boolean isOverdue(long now) {
        return present && deadline != Long.MAX_VALUE && now - deadline > 0;
    }

    /** Whether his client was stopped, so that he could not take anything. */
    boolean isStopped() {
        return stopped;
    }

    /**
     * The evidence of that.
     *
     * @return whether it is news
     */
    boolean setStopped(boolean now) {
        boolean changed = now != stopped;
        stopped = now;
        return changed;
    }

    /** Whether he waits and has been given nothing. */
    synchronized boolean isOpen() {
        return !over && claim.isEmpty() && refusal.isEmpty();
    }

    /**
     * Gives him what he waits for.
     *
     * @return false when he does not wait any more: it is still the caller's
     */
    synchronized boolean give(Claim given) {
        if (!isOpen()) {
            return false;
        }
        claim = Optional.of(given);
        news.add();
        return true;
    }

    /** He cannot ever be served. */
    synchronized void refuse(Refusal why) {
        if (isOpen()) {
            refusal = Optional.of(why);
            news.add();
        }
    }

    /** Nobody waits here any more, and what was given meanwhile is the caller's. */
    synchronized Optional<Claim> close() {
        over = true;
        news.add();
        Optional<Claim> given = claim;
        claim = Optional.empty();
        return given;
    }

    /** Whether nobody waits here any more. */
    synchronized boolean isOver() {
        return over;
    }

    /** The claim that he has been given. */
    synchronized Optional<Claim> given() throws RefusedException {
        if (refusal.isPresent()) {
            throw new RefusedException(refusal.get());
        }
        return claim;
    }

    /** It was none after all. He waits again. */
    synchronized void giveBack() {
        claim = Optional.empty();
    }

    /** Lets him know, if that is news. */
    void stand(Standing now) {
        if (!standing.equals(Optional.of(now))) {
            standing = Optional.of(now);
            news.add();
        }
    }

    Optional<Standing> standing() {
        return standing;
    }

    /** Each time that there is something for him. */
    Changes news() {
        return news;
    }
}
