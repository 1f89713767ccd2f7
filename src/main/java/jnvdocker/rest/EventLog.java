package jnvdocker.rest;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Hands events to readers, and keeps the last ones for readers that come back. A reader that falls
 * behind is disconnected, and delays no other.
 */
final class EventLog {
    private final String run;
    private final int kept;
    private final Deque<FeedEvent> last = new ArrayDeque<>();
    private final Set<Reader> readers = new HashSet<>();
    private long count;

    /**
     * @param run names this run of the daemon
     * @param kept how many events are kept, and how many a reader may be behind
     */
    EventLog(String run, int kept) {
        this.run = run;
        this.kept = kept;
    }

    /** Receives each event. */
    final class Reader implements AutoCloseable {
        private final BlockingQueue<FeedEvent> events = new ArrayBlockingQueue<>(kept);
        private final List<FeedEvent> missed;
        private volatile boolean lost;

        private Reader(List<FeedEvent> missed) {
            this.missed = List.copyOf(missed);
        }

        /** Returns what has happened since it was here last. */
        List<FeedEvent> missed() {
            return missed;
        }

        /** Waits for an event, at most for that time. */
        Optional<FeedEvent> next(Duration longest) throws InterruptedException {
            return Optional.ofNullable(events.poll(longest.toMillis(), TimeUnit.MILLISECONDS));
        }

        /** Whether there is nothing more for it: it was too slow, and misses events. */
        boolean isOver() {
            return lost && events.isEmpty();
        }

        private void send(FeedEvent event) {
            lost |= !events.offer(event);
        }

        @Override
        public void close() {
            forget(this);
        }
    }

    /**
     * Returns a reader that has received everything up to an event, and receives the rest; empty
     * when that event is not known any more.
     */
    synchronized Optional<Reader> joinAfter(String id) {
        List<FeedEvent> missed = new ArrayList<>();
        boolean found = false;
        for (FeedEvent event : last) {
            if (found) {
                missed.add(event);
            }
            found |= event.id().equals(id);
        }
        return found ? Optional.of(join(missed)) : Optional.empty();
    }

    /** Returns a reader that receives each event from now on. */
    synchronized Reader join() {
        return join(List.of());
    }

    private Reader join(List<FeedEvent> missed) {
        Reader reader = new Reader(missed);
        readers.add(reader);
        return reader;
    }

    private synchronized void forget(Reader reader) {
        readers.remove(reader);
    }

    synchronized boolean hasReaders() {
        return !readers.isEmpty();
    }

    /** Sends to one reader alone what everything is like after the last event. */
    synchronized void send(Reader reader, String state) {
        reader.send(new FeedEvent(run + "-" + count, FeedEvent.Kind.STATE, state));
    }

    synchronized void add(FeedEvent.Kind kind, String data) {
        count++;
        FeedEvent event = new FeedEvent(run + "-" + count, kind, data);
        last.add(event);
        if (last.size() > kept) {
            last.remove();
        }
        readers.forEach(reader -> reader.send(event));
        readers.removeIf(reader -> reader.lost);
    }

    /** Events are missing from now on: every reader is to begin again. */
    synchronized void breakOff() {
        last.clear();
        readers.forEach(reader -> reader.lost = true);
        readers.clear();
    }
}
