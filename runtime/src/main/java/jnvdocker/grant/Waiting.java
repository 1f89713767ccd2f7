package jnvdocker.grant;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * How long somebody waits for GPUs, and how to tell them of it.
 *
 * @param limit empty when there is none
 */
public record Waiting(Optional<Duration> limit, Listener listener) {

    /** Hears of what has changed. */
    @FunctionalInterface
    public interface Listener {
        /**
         * @param text the holders of the requested GPUs, and the place in the queue
         * @throws IOException when nobody listens any more
         */
        void report(String text) throws IOException;
    }
}
