package jnvdocker.grant;

import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * How long a client waits for GPUs, and how it is notified of changes meanwhile.
 *
 * @param limit empty when there is none
 * @param source the option or label that requests the wait, for refusals
 * @param byRoot whether the client runs with root's rights, whichever user typed its command
 * @param trial of what is to start after the wait
 */
public record Waiting(
        Optional<Duration> limit, Listener listener, String source, boolean byRoot, Trial trial) {
    /** A wait of a user's that an option of {@code jnvdocker run} requests. */
    public Waiting(Optional<Duration> limit, Listener listener) {
        this(limit, listener, "--gpu-wait", false, () -> {});
    }

    /** The same wait for something that is tried before it. */
    public Waiting trying(Trial its) {
        return new Waiting(limit, listener, source, byRoot, its);
    }

    /** Finds out before a wait what would keep a container or program from starting after it. */
    @FunctionalInterface
    public interface Trial {
        /**
         * @throws RefusedException when it could not start, whatever GPUs there are
         */
        void run() throws RefusedException, IOException;
    }

    /** Is notified of what has changed. */
    @FunctionalInterface
    public interface Listener {
        /**
         * @param text the holders of the requested GPUs, and the place in the queue
         * @throws IOException when nobody listens any more
         */
        void report(String text) throws IOException;
    }
}
