package jnvdocker.doctor;

import java.io.IOException;

/**
 * A check of one thing.
 *
 * @param name its subject, in a word
 */
public record Check(String name, Query query) {
    /** Every query that it sends to a program or an engine has a time limit. */
    @FunctionalInterface
    public interface Query {
        /**
         * @throws IOException when the check is impossible, which proves nothing about the host
         */
        void examine(Findings found) throws IOException;
    }
}
