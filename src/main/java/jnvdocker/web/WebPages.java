package jnvdocker.web;

import java.io.IOException;
import java.util.Optional;

/** Some of the pages that clients can request. */
@FunctionalInterface
public interface WebPages {
    /**
     * Returns the answer; empty if none of these pages has that path. It is called on a thread of
     * its own and may take a moment.
     *
     * @throws IOException when it cannot be answered; its message says why
     */
    Optional<WebAnswer> answer(WebRequest request) throws IOException;
}
