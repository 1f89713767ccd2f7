package jnvdocker.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.Test;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Events of users who flood the queue, and of others. */
@Attack(
        by = "a member",
        what = "is refused GPUs 300 times while programs of `notify` run",
        result = "the refusals are dropped first; no event of another user is lost")
class EventQueueTest {
    private static final int MOST = 8;

    private final EventQueue queue = new EventQueue(MOST);

    private boolean add(String event, int uid, int number) {
        return queue.add(
                Event.of(
                        event,
                        Instant.EPOCH,
                        event + number,
                        Map.of("JNVDOCKER_UID", String.valueOf(uid))));
    }

    private List<String> all() throws InterruptedException {
        List<String> all = new ArrayList<>();
        Optional<Event> next = queue.poll(0, TimeUnit.SECONDS);
        while (next.isPresent()) {
            String uid = next.get().uid() == null ? "host" : next.get().uid().toString();
            all.add(uid + " " + next.get().message());
            next = queue.poll(0, TimeUnit.SECONDS);
        }
        return all;
    }

    @Test
    void refusalsOfOneUserDisplaceNothing() throws Exception {
        assertTrue(add("granted", 2, 0));
        for (int i = 0; i < 3 * MOST; i++) {
            add("refused", 1, i);
        }
        assertFalse(add("released", 2, 0));
        add("overdue", 2, 0);
        queue.add(Event.of("sick", Instant.EPOCH, "sick", Map.of()));
        assertEquals(
                List.of(
                        "2 granted0",
                        "1 refused0",
                        "1 refused1",
                        "1 refused2",
                        "1 refused3",
                        "2 released0",
                        "2 overdue0",
                        "host sick"),
                all());
    }

    /** Also the only refusal of another user stays. */
    @Test
    void ofTwoWhoAreRefusedTheOneWithMoreLosesThem() throws Exception {
        for (int i = 0; i < MOST; i++) {
            add("refused", 1, i);
        }
        add("refused", 2, 0);
        List<String> all = all();
        assertEquals(MOST, all.size());
        assertEquals("2 refused0", all.getLast());
        assertEquals("1 refused6", all.get(MOST - 2));
    }

    @Test
    void leasesOfOneUserDisplaceNoOthers() throws Exception {
        add("granted", 2, 0);
        for (int i = 0; i < 3 * MOST; i++) {
            add("granted", 1, i);
            add("released", 1, i);
        }
        add("due", 3, 0);
        List<String> all = all();
        assertEquals(MOST, all.size());
        assertEquals("2 granted0", all.getFirst());
        assertEquals("3 due0", all.getLast());
    }

    @Test
    void eventsAreTakenInOrder() throws Exception {
        add("granted", 1, 0);
        add("granted", 2, 1);
        assertEquals(List.of("1 granted0", "2 granted1"), all());
        assertEquals(Optional.empty(), queue.poll(1, TimeUnit.MILLISECONDS));
    }
}
