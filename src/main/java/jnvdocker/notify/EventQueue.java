package jnvdocker.notify;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The events that wait for the programs, in order. When there are too many, those of the user with
 * the most are dropped, and refusals before all others: no user can displace another's events.
 */
final class EventQueue {
    private final int most;
    private final List<Event> events = new ArrayList<>();
    private final Lock lock = new ReentrantLock();
    private final Condition added = lock.newCondition();

    /**
     * @param most how many events may wait
     */
    EventQueue(int most) {
        this.most = most;
    }

    /**
     * Adds an event.
     *
     * @return whether none was dropped for it, and it was not dropped itself
     */
    boolean add(Event event) {
        lock.lock();
        try {
            events.add(event);
            added.signal();
            if (events.size() <= most) {
                return true;
            }
            List<Event> refused = events.stream().filter(EventQueue::isRefused).toList();
            Event least = lastOfBusiest(refused.isEmpty() ? events : refused);
            events.remove(events.lastIndexOf(least));
            return false;
        } finally {
            lock.unlock();
        }
    }

    private static boolean isRefused(Event event) {
        return event.event().equals("refused");
    }

    /** The last event of the user who has the most of some; events of no user are one user's. */
    private static Event lastOfBusiest(List<Event> some) {
        Map<Optional<Long>, Integer> counts = new HashMap<>();
        some.forEach(event -> counts.merge(user(event), 1, Integer::sum));
        Optional<Long> busiest =
                counts.entrySet().stream()
                        .max(Comparator.comparing(Map.Entry::getValue))
                        .orElseThrow()
                        .getKey();
        return some.reversed().stream()
                .filter(event -> user(event).equals(busiest))
                .findFirst()
                .orElseThrow();
    }

    private static Optional<Long> user(Event event) {
        return Optional.ofNullable(event.uid());
    }

    /** Takes the first event, and waits for one at most so long. */
    Optional<Event> poll(long time, TimeUnit unit) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = unit.toNanos(time);
            while (events.isEmpty() && left > 0) {
                left = added.awaitNanos(left);
            }
            return events.isEmpty() ? Optional.empty() : Optional.of(events.removeFirst());
        } finally {
            lock.unlock();
        }
    }
}
