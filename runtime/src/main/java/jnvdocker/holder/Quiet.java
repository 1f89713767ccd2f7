package jnvdocker.holder;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A lease with a container of which nothing runs, from then on: the checks whether it comes back,
 * and the answers of its engine that nothing runs.
 */
public final class Quiet {
    /** The number of prompt answers of the engine that nothing runs. */
    private static final int ANSWERS = 5;

    /**
     * The longest time between two prompt answers, without the time in which this machine was too
     * busy: after a longer one, the count of prompt answers starts again.
     */
    private static final Duration PROMPT = Duration.ofMillis(200);

    /** The time after which an answer need not be prompt any more. */
    private static final Duration SLOW = Duration.ofSeconds(5);

    private final Pace pace;
    private final long since;
    private Optional<Pace.Moment> begun = Optional.empty();
    private boolean pending;
    private int checks;
    private int answers;
    private int promptAnswers;
    private Pace.Moment last;
    private boolean comesBack;
    private Life finding = new Life.Unknown();

    Quiet(Pace pace) {
        this.pace = pace;
        since = pace.nanos();
        last = pace.moment();
    }

    /**
     * When nothing of the container ran for the first time, with the pressure of the first call.
     */
    public synchronized Pace.Moment begun() {
        if (begun.isEmpty()) {
            begun = Optional.of(new Pace.Moment(since, pace.moment().pressure()));
        }
        return begun.get();
    }

    public Duration passed() {
        return Duration.ofNanos(pace.nanos() - since);
    }

    /** Whether a check is to begin, since none is under way or to come. */
    public synchronized boolean begin() {
        boolean begins = !pending;
        pending = true;
        return begins;
    }

    /**
     * A check has ended.
     *
     * @param stays whether it has found that the lease stays
     * @param again whether another check is to come by itself
     */
    public synchronized void checked(boolean stays, boolean again) {
        checks++;
        if (stays) {
            answers = 0;
            promptAnswers = 0;
        }
        comesBack = stays;
        pending = again;
    }

    /** How many checks have ended. */
    public synchronized int checks() {
        return checks;
    }

    /** Whether the last check has found that the lease stays. */
    public synchronized boolean comesBack() {
        return comesBack;
    }

    /**
     * What the host shows of the container. The answers between the first one and the one that
     * counts need no look at the host: all its mounts would be read for each.
     *
     * @param look at the host
     */
    public Life finding(Supplier<Life> look) {
        synchronized (this) {
            if (answers > 0 && !isLastAnswer()) {
                return finding;
            }
        }
        Life seen = look.get();
        synchronized (this) {
            finding = seen;
        }
        return seen;
    }

    /** Whether the next word that nothing runs may be the one that counts. */
    public synchronized boolean isLastAnswer() {
        return answers + 1 >= ANSWERS;
    }

    /** Counts an answer that nothing runs, and returns whether there have been enough of them. */
    public synchronized boolean isSaidOften() {
        Pace.Moment now = pace.moment();
        boolean prompt = now.calmSince(last).compareTo(PROMPT) <= 0;
        last = now;
        answers++;
        promptAnswers = prompt ? promptAnswers + 1 : 1;
        return promptAnswers >= ANSWERS || answers >= ANSWERS && passed().compareTo(SLOW) >= 0;
    }
}
