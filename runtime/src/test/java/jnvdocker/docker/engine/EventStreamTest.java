package jnvdocker.docker.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

class EventStreamTest {
    private final List<String> closed = new ArrayList<>();

    @Test
    void streamThatComesAfterTheCloseIsClosed() throws IOException {
        EventStream events = new EventStream(_ -> {});
        events.close();
        events.onStart(() -> closed.add("late"));
        assertEquals(List.of("late"), closed);
    }

    @Test
    void streamStaysUntilTheClose() throws IOException {
        EventStream events = new EventStream(_ -> {});
        events.onStart(() -> closed.add("first"));
        assertEquals(List.of(), closed);
        events.close();
        events.close();
        assertEquals(List.of("first"), closed);
    }

    @Test
    void endsWithTheEngine() throws Exception {
        EventStream events = new EventStream(_ -> {});
        assertFalse(events.awaitEnd(Duration.ZERO));
        events.onComplete();
        assertTrue(events.awaitEnd(Duration.ZERO));
        EventStream broken = new EventStream(_ -> {});
        broken.onError(new IOException("broken pipe"));
        assertTrue(broken.awaitEnd(Duration.ZERO));
    }
}
