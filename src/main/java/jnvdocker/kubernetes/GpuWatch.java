package jnvdocker.kubernetes;

import jnvdocker.core.Leases;
import jnvdocker.decision.DecisionListener;
import jnvdocker.decision.RefusalReason;
import jnvdocker.holder.Periodic;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.posix.FileErrors;
import jnvdocker.registry.Changes;
import jnvdocker.words.Refusal;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Keeps the state of all GPUs in memory, so that no caller waits. One thread scans them, and may
 * wait for the registry, for {@code /proc} and for engines. Another notifies listeners of changes:
 * a lease that begins is known at once, however long a scan takes.
 */
final class GpuWatch implements DecisionListener, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(GpuWatch.class);

    /** The longest pause between scans, since no event reports a use without a lease. */
    private static final Duration PERIOD = Duration.ofSeconds(3);

    /** The wait for a thread that ends; one that hangs in the driver or on a disk is abandoned. */
    static final Duration PATIENCE = Duration.ofSeconds(1);

    private final Source source;
    private final List<Consumer<Leases.Board>> listeners = new CopyOnWriteArrayList<>();
    private final List<Periodic> threads;

    private Optional<Leases.Board> board = Optional.empty();
    private long published;
    private long count;

    /** Leases that the last scan may have missed. */
    private final List<Begun> begun = new ArrayList<>();

    private boolean failing;

    /** A scan of all GPUs. */
    @FunctionalInterface
    interface Source {
        Leases.Board board() throws IOException;
    }

    /**
     * @param at the count at that moment
     */
    private record Begun(long at, Lease lease) {}

    /**
     * @param changes after which it scans again at once
     */
    GpuWatch(Source source, Changes changes) {
        this.source = source;
        threads =
                List.of(
                        new Periodic("pods-scan", PERIOD, this::scan).after(changes),
                        new Periodic("pods-report", Duration.ZERO, this::publish));
    }

    GpuWatch start() {
        threads.forEach(Periodic::start);
        return this;
    }

    /** Returns the last scan; empty until the first is done. */
    synchronized Optional<Leases.Board> known() {
        return board;
    }

    /**
     * Waits for the first scan.
     *
     * @return whether it is done
     */
    synchronized boolean await(Duration longest) throws InterruptedException {
        long end = System.nanoTime() + longest.toNanos();
        while (board.isEmpty()) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                return false;
            }
            wait(left);
        }
        return true;
    }

    /** Waits for the next scan, or for a lease to begin. */
    synchronized void awaitNext() throws InterruptedException {
        long before = count;
        while (count == before) {
            wait();
        }
    }

    /** Notifies a listener of changes, on a thread of this watch. */
    void addListener(Consumer<Leases.Board> listener) {
        listeners.add(listener);
    }

    @Override
    public void granted(Lease lease) {
        begin(lease);
    }

    @Override
    public void recovered(Lease lease) {
        begin(lease);
    }

    private synchronized void begin(Lease lease) {
        count++;
        begun.removeIf(it -> it.lease().claim().gpus().stream().anyMatch(lease::excludes));
        begun.add(new Begun(count, lease));
        board = board.map(it -> new Leases.Board(it.gpus(), it.choice().with(lease)));
        notifyAll();
    }

    /** A scan, which the registry triggers, finds out whether its GPUs are free. */
    @Override
    public synchronized void released(Lease lease, Instant at, String evidence) {
        begun.removeIf(it -> it.lease().id() == lease.id());
    }

    @Override
    public void refused(Owner owner, String purpose, Refusal why, RefusalReason reason) {}

    private void scan() {
        long before = count();
        try {
            seen(source.board(), before);
        } catch (IOException e) {
            if (!Thread.currentThread().isInterrupted()) {
                failed(FileErrors.describe(e));
            }
        }
    }

    private synchronized long count() {
        return count;
    }

    private synchronized void seen(Leases.Board seen, long before) {
        failing = false;
        begun.removeIf(it -> it.at() <= before);
        GpuChoice choice = seen.choice();
        for (Begun it : begun) {
            choice = choice.with(it.lease());
        }
        board = Optional.of(new Leases.Board(seen.gpus(), choice));
        count++;
        notifyAll();
    }

    private synchronized void failed(String why) {
        if (!failing) {
            LOG.warn("pods get GPUs by what was known before: {}", why);
        }
        failing = true;
    }

    private void publish() throws InterruptedException {
        Leases.Board now = next();
        listeners.forEach(listener -> report(listener, now));
    }

    private static void report(Consumer<Leases.Board> listener, Leases.Board now) {
        try {
            listener.accept(now);
        } catch (RuntimeException e) {
            LOG.error("reporting GPUs for pods", e);
        }
    }

    private synchronized Leases.Board next() throws InterruptedException {
        while (published == count || board.isEmpty()) {
            wait();
        }
        published = count;
        return board.get();
    }

    @Override
    public void close() {
        threads.forEach(it -> it.end(Duration.ZERO));
        threads.forEach(it -> it.end(PATIENCE));
    }
}
