package jnvdocker.holder;

import jnvdocker.posix.ProcessId;
import jnvdocker.registry.SeenEnd;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;

/** What is remembered of one lease beside its row in the registry, for as long as it is held. */
public final class Memory {
    /** The processes of its holder that were seen to use its GPUs. */
    final Map<ProcessId, GpuUse.User> users = new ConcurrentHashMap<>();

    private Optional<IOException> failure = Optional.empty();
    private Optional<SeenEnd> over = Optional.empty();
    private Optional<String> stopped = Optional.empty();
    private Optional<Kept> kept = Optional.empty();
    private Optional<Quiet> quiet = Optional.empty();
    private Optional<Warned> warned = Optional.empty();

    /** The engine that was granted a mount which could not be written. */
    private Optional<ProcessId> mounting = Optional.empty();

    /** When its holder was stopped last, as {@link Pace} counts. */
    private OptionalLong tried = OptionalLong.empty();

    /** When podman was last seen to decide about its container. */
    private Optional<Pace.Moment> monitored = Optional.empty();

    /**
     * Why a lease does not end though nothing of its holder lives.
     *
     * @param comesBack whether its engine may start the container again
     */
    private record Kept(String why, boolean comesBack) {}

    /** How many warnings were given for the end of a lease at that time. */
    public record Warned(Instant due, int warnings) {}

    /** Why its end could not be written at the last check; empty when nothing failed. */
    public synchronized Optional<IOException> failure() {
        return failure;
    }

    /**
     * A check of the lease has ended.
     *
     * @param now why its end could not be written; empty when nothing failed
     * @return whether it failed for another reason than the last one
     */
    public synchronized boolean checked(Optional<IOException> now) {
        boolean known = now.isPresent() && failure.filter(it -> isSame(it, now.get())).isPresent();
        failure = now;
        return now.isPresent() && !known;
    }

    private static boolean isSame(IOException one, IOException other) {
        return Objects.equals(one.getMessage(), other.getMessage());
    }

    /** Its holder has ended for good: to be judged by the next check. */
    public synchronized void say(SeenEnd word) {
        over = Optional.of(word);
    }

    /** The last word of that kind since it was asked for. */
    public synchronized Optional<SeenEnd> word() {
        Optional<SeenEnd> last = over;
        over = Optional.empty();
        return last;
    }

    /** Its claim was mounted again, which could not be written: nothing on disk records that. */
    public synchronized void mountedUnwritten(ProcessId engine) {
        mounting = Optional.of(engine);
    }

    /** The engine that has mounted it so. */
    public synchronized Optional<ProcessId> mounting() {
        return mounting;
    }

    /** The checks since nothing of its container has run; empty when something does. */
    public synchronized Optional<Quiet> quiet() {
        return quiet;
    }

    /** Nothing of its container runs: the checks since then, which may begin now. */
    public synchronized Quiet quiet(Pace pace) {
        Quiet now = quiet.orElseGet(() -> new Quiet(pace));
        quiet = Optional.of(now);
        return now;
    }

    /** Whether nothing of its container has run since then. */
    public synchronized boolean isStill(Quiet before) {
        return quiet.filter(it -> it == before).isPresent();
    }

    /** These checks are over: something of its container runs, or it has ended. */
    public synchronized void over(Quiet checks) {
        quiet = quiet.filter(it -> it != checks);
    }

    /** Its claim is mounted again: its container is about to run. */
    public synchronized void mounted() {
        quiet = Optional.empty();
    }

    /** Nothing has its claim mounted from now on. */
    public synchronized void unmounted(Pace pace) {
        mounting = Optional.empty();
        quiet = Optional.of(new Quiet(pace));
    }

    /** Something of its holder lives, or it has ended: nothing keeps it. */
    public synchronized void settled() {
        mounting = Optional.empty();
        quiet = Optional.empty();
        kept = Optional.empty();
    }

    /**
     * The lease cannot end though nothing of its holder lives.
     *
     * @return whether that is new
     */
    public boolean keep(String why) {
        return keep(new Kept(why, false));
    }

    private synchronized boolean keep(Kept now) {
        boolean isNew = !kept.equals(Optional.of(now));
        kept = Optional.of(now);
        return isNew;
    }

    /**
     * The container may start again, though nothing of it lives, in place of what it may have been
     * before.
     *
     * @param why empty when people can see that by themselves
     * @return whether there is a reason, and it is new
     */
    public synchronized boolean expect(Optional<String> why) {
        if (why.isEmpty()) {
            kept = kept.filter(it -> !it.comesBack());
            return false;
        }
        return keep(new Kept(why.get(), true));
    }

    /** Why the lease cannot end though its holder is gone; empty when nothing keeps it. */
    public synchronized Optional<String> kept() {
        return kept.map(Kept::why);
    }

    /** Whether the lease is kept, and its container does not start again. */
    synchronized boolean isStuck() {
        return kept.filter(it -> !it.comesBack()).isPresent();
    }

    /** When podman was last seen to have yet to decide about its container. */
    public synchronized Optional<Pace.Moment> monitored() {
        return monitored;
    }

    public synchronized void monitored(Optional<Pace.Moment> now) {
        monitored = now;
    }

    /**
     * Whether its holder is to be stopped now, since that was not tried for a while.
     *
     * @param now as {@link Pace} counts
     */
    public synchronized boolean isToBeStopped(long now, Duration pause) {
        boolean due = tried.isEmpty() || now - tried.getAsLong() >= pause.toNanos();
        if (due) {
            tried = OptionalLong.of(now);
        }
        return due;
    }

    /**
     * We stop its holder.
     *
     * @param why empty when we have not stopped it after all
     */
    public synchronized void stopped(Optional<String> why) {
        stopped = why;
    }

    /** The evidence of an end: that we have stopped the holder, or what was seen. */
    public synchronized String ofEnd(String seen) {
        return stopped.map(why -> "jnvdocker stopped it: " + why).orElse(seen);
    }

    /** The warnings that were given for its end. */
    public synchronized Optional<Warned> warned() {
        return warned;
    }

    public synchronized void warned(Warned now) {
        warned = Optional.of(now);
    }
}
