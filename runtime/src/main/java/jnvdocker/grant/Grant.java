package jnvdocker.grant;

import java.io.IOException;
import java.util.Optional;

/**
 * GPUs that a request was just given. They are given back at the end of a try statement unless
 * {@link #keep} was called before, so that whatever fails between a lease and its container leaves
 * nothing held.
 *
 * @param <T> how the receiver knows them: a claim, or a lease
 */
public final class Grant<T> implements AutoCloseable {
    private final Optional<T> given;
    private final Return<T> giveBack;
    private boolean kept;

    /** The end of a lease whose receiver was not started. */
    @FunctionalInterface
    public interface Return<T> {
        void of(T given) throws IOException;
    }

    /**
     * @param given empty for a request for no GPU
     */
    public Grant(Optional<T> given, Return<T> giveBack) {
        this.given = given;
        this.giveBack = giveBack;
    }

    /** Returns what was given; empty for a request for no GPU. */
    public Optional<T> given() {
        return given;
    }

    /** Leaves the GPUs to their receiver, and returns what was given. */
    public Optional<T> keep() {
        kept = true;
        return given;
    }

    /**
     * Gives the GPUs back, unless they are kept.
     *
     * @throws IOException when the registry cannot be written; their lease ends when the client has
     */
    @Override
    public void close() throws IOException {
        if (!kept && given.isPresent()) {
            giveBack.of(given.get());
        }
    }
}
