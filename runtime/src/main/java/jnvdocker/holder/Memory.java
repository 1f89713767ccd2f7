package jnvdocker.holder;

import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.Ground;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

/** What is remembered of one lease beside its row in the registry, for as long as it is held. */
public final class Memory {
    /** Why its end could not be written at the last check; null when nothing failed. */
    public final AtomicReference<IOException> failure = new AtomicReference<>();

    /** The last word of its engine, for the next check; null when there is none. */
    public final AtomicReference<Over> over = new AtomicReference<>();

    /** Why we stop its holder; null when we do not. */
    public final AtomicReference<String> stopped = new AtomicReference<>();

    /** The processes of its holder that were seen to use its GPUs. */
    final Map<ProcessId, GpuUse.User> users = new ConcurrentHashMap<>();

    private final AtomicReference<Kept> kept = new AtomicReference<>();

    /** When its holder was stopped last, as {@link Pace} counts. */
    private OptionalLong tried = OptionalLong.empty();

    /**
     * The word of an engine that a container has ended for good.
     *
     * @param seen the lease that it is about: by now it may be another start's
     */
    public record Over(Lease seen, String evidence, Ground ground) {}

    /**
     * Why a lease does not end though nothing of its holder lives.
     *
     * @param comesBack whether its engine may start the container again
     */
    private record Kept(String why, boolean comesBack) {}

    /**
     * The lease cannot end though nothing of its holder lives.
     *
     * @return whether that is new
     */
    public boolean keep(String why) {
        Kept now = new Kept(why, false);
        return !now.equals(kept.getAndSet(now));
    }

    /**
     * The container may start again, though nothing of it lives, in place of what it may have been
     * before.
     *
     * @param why empty when people can see that by themselves
     * @return whether there is a reason, and it is new
     */
    public boolean expect(Optional<String> why) {
        if (why.isEmpty()) {
            kept.updateAndGet(before -> before != null && before.comesBack() ? null : before);
            return false;
        }
        Kept now = new Kept(why.get(), true);
        return !now.equals(kept.getAndSet(now));
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

    /** Nothing keeps the lease, or its holder lives. */
    public void letGo() {
        kept.set(null);
    }

    /** Why the lease cannot end though its holder is gone; empty when nothing keeps it. */
    public Optional<String> kept() {
        return Optional.ofNullable(kept.get()).map(Kept::why);
    }

    /** Whether the lease is kept, and its container does not start again. */
    boolean isStuck() {
        Kept why = kept.get();
        return why != null && !why.comesBack();
    }

    /** The evidence of an end: that we have stopped the holder, or what was seen. */
    public String ofEnd(String seen) {
        String why = stopped.get();
        return why == null ? seen : "jnvdocker stopped it: " + why;
    }
}
