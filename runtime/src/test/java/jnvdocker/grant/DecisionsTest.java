package jnvdocker.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** Deciders, while others change the state that they decide on. */
class DecisionsTest {
    private static final int TRIES = 8;

    private final Decisions decisions = new Decisions();
    private final AtomicBoolean written = new AtomicBoolean();
    private int attempts;

    private Thread write() {
        return Thread.ofVirtual()
                .start(() -> {
                    try {
                        decisions.write(() -> written.getAndSet(true));
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                });
    }

    @Test
    void othersWriteWhileSomebodyDecides() throws Exception {
        assertEquals("done", decisions.<String, IOException>decide(() -> Optional.of(written())));
    }

    private String written() throws IOException {
        try {
            write().join();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
        assertTrue(written.get());
        return "done";
    }

    @Test
    void deciderThatIsOvertakenTimeAndAgainGoesFirst() throws Exception {
        Thread other =
                decisions.<Thread, IOException>decide(() -> {
                    if (attempts++ < TRIES) {
                        return Optional.empty();
                    }
                    Thread writer = write();
                    while (writer.getState() != Thread.State.WAITING) {
                        Thread.onSpinWait();
                    }
                    assertFalse(written.get());
                    // A decider may write its own decision.
                    return Optional.of(decisions.write(() -> writer));
                });
        other.join();
        assertTrue(written.get());
        assertEquals(TRIES + 1, attempts);
    }
}
