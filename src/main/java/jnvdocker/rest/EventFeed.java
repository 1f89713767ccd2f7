package jnvdocker.rest;

import jnvdocker.command.gpu.show.GpuDocuments;
import jnvdocker.command.gpu.show.GpuDocuments.GpuLine;
import jnvdocker.command.gpu.show.GpuDocuments.Snapshot;
import jnvdocker.decision.DecisionListener;
import jnvdocker.decision.RefusalReason;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Refusal;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Makes events of decisions, and of what differs between successive snapshots of the GPUs and the
 * queue. It takes snapshots while it has readers and for a while after, on a thread of its own:
 * decisions do not wait for it.
 */
final class EventFeed implements DecisionListener, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EventFeed.class);

    /** If more decisions come at once, they are not published, and readers must begin again. */
    private static final int MOST_TASKS = 1024;

    private final Source source;
    private final Pace pace;
    private final EventLog log;
    private final BlockingQueue<Runnable> tasks = new ArrayBlockingQueue<>(MOST_TASKS);
    private Optional<Snapshot> before = Optional.empty();
    private boolean running;
    private volatile boolean active;
    private volatile boolean overrun;
    private volatile boolean closed;

    /** Finds out what everything is like. */
    @FunctionalInterface
    interface Source {
        Snapshot now() throws IOException;
    }

    /**
     * @param interval the time between two snapshots
     * @param patience for how long events are kept for a reader that may come back
     * @param kept how many events
     */
    record Pace(Duration interval, Duration patience, int kept) {
        static final Pace USUAL = new Pace(Duration.ofSeconds(1), Duration.ofMinutes(1), 256);
    }

    EventFeed(Source source, Pace pace) {
        this.source = source;
        this.pace = pace;
        this.log =
                new EventLog(
                        Long.toString(Instant.now().toEpochMilli(), Character.MAX_RADIX),
                        pace.kept());
    }

    /** A feed of the changes in these documents. */
    static EventFeed of(GpuDocuments documents) {
        return new EventFeed(documents::snapshot, Pace.USUAL);
    }

    /**
     * Returns a reader that receives each event after the last one, if that one is known; else a
     * snapshot of everything, and each event after it.
     *
     * @param last the id of the last event that the reader has received
     */
    synchronized EventLog.Reader open(Optional<String> last) {
        if (!running) {
            running = true;
            active = true;
            Thread.ofPlatform().daemon().name("events").start(this::run);
        }
        Optional<EventLog.Reader> known = last.flatMap(log::joinAfter);
        if (known.isPresent()) {
            return known.get();
        }
        EventLog.Reader reader = log.join();
        enqueue(() -> welcome(reader));
        return reader;
    }

    private void run() {
        try {
            serveUntilClosed();
        } catch (RuntimeException | Error e) {
            LOG.error("events are not reported", e);
            end();
        }
    }

    private void serveUntilClosed() {
        long read = System.nanoTime();
        long polled = System.nanoTime() - pace.interval().toNanos();
        while (!closed && !isLeft(read)) {
            long now = System.nanoTime();
            if (log.hasReaders()) {
                read = now;
            }
            if (now - polled >= pace.interval().toNanos()) {
                polled = now;
                snapshot();
            }
            perform(pace.interval().toNanos() - (System.nanoTime() - polled));
        }
    }

    /** Ends the thread when there was no reader for a while. */
    private synchronized boolean isLeft(long read) {
        if (log.hasReaders() || System.nanoTime() - read < pace.patience().toNanos()) {
            return false;
        }
        end();
        return true;
    }

    private synchronized void end() {
        active = false;
        running = false;
        before = Optional.empty();
        tasks.clear();
        log.breakOff();
    }

    private void perform(long nanos) {
        try {
            Runnable task = tasks.poll(Math.max(0, nanos), TimeUnit.NANOSECONDS);
            if (task != null) {
                task.run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            closed = true;
        }
        if (overrun) {
            overrun = false;
            tasks.clear();
            log.breakOff();
        }
    }

    /** Returns a snapshot, after publishing what differs from the last; empty on failure. */
    private Optional<Snapshot> snapshot() {
        try {
            Snapshot now = source.now();
            before.ifPresent(it -> compare(it, now));
            before = Optional.of(now);
        } catch (IOException e) {
            LOG.debug("the host's state cannot be read: {}", FileErrors.describe(e));
            before = Optional.empty();
        } catch (RuntimeException e) {
            LOG.error("a scan for events failed", e);
            before = Optional.empty();
        }
        return before;
    }

    private void compare(Snapshot old, Snapshot now) {
        Map<String, String> standings = standings(old.gpus());
        if (!standings.keySet().equals(standings(now.gpus()).keySet())) {
            log.add(FeedEvent.Kind.STATE, now.text());
            return;
        }
        for (GpuLine gpu : now.gpus()) {
            if (!gpu.standing().equals(standings.get(gpu.name()))) {
                log.add(FeedEvent.Kind.GPU, gpu.document());
            }
        }
        if (!old.queue().equals(now.queue())) {
            log.add(FeedEvent.Kind.QUEUE, now.queue());
        }
    }

    private static Map<String, String> standings(List<GpuLine> gpus) {
        return gpus.stream()
                .collect(Collectors.toMap(GpuLine::name, GpuLine::standing, (one, _) -> one));
    }

    /**
     * Sends the state of everything to a new reader, or breaks all streams off if it is unknown.
     */
    private void welcome(EventLog.Reader reader) {
        snapshot().ifPresentOrElse(now -> log.send(reader, now.text()), log::breakOff);
    }

    /** Runs a task on the thread, if there are readers. */
    private void enqueue(Runnable task) {
        if (active && !tasks.offer(task)) {
            overrun = true;
        }
    }

    @Override
    public void granted(Lease lease) {
        enqueue(() -> log.add(FeedEvent.Kind.GRANTED, GpuDocuments.begun(lease)));
    }

    @Override
    public void recovered(Lease lease) {
        enqueue(() -> log.add(FeedEvent.Kind.RECOVERED, GpuDocuments.begun(lease)));
    }

    @Override
    public void released(Lease lease, Instant at, String evidence) {
        enqueue(() -> log.add(FeedEvent.Kind.RELEASED, GpuDocuments.ended(lease, at, evidence)));
    }

    @Override
    public void refused(Owner owner, String purpose, Refusal why, RefusalReason reason) {
        Instant now = Instant.now();
        enqueue(() ->
                log.add(
                        FeedEvent.Kind.REFUSED,
                        GpuDocuments.refused(now, owner, purpose, why, reason)));
    }

    @Override
    public void close() {
        closed = true;
        log.breakOff();
    }
}
