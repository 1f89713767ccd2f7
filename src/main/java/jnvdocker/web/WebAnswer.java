package jnvdocker.web;

import java.io.IOException;
import java.io.Writer;

/** An answer to a question over HTTP. */
public sealed interface WebAnswer {
    String JSON = "application/json";
    String TEXT = "text/plain; charset=utf-8";

    /**
     * A whole page.
     *
     * @param status the HTTP status
     * @param type the content type
     */
    record Page(int status, String type, String body) implements WebAnswer {
        /** Returns a page that was found. */
        public static Page of(String type, String body) {
            return new Page(200, type, body);
        }
    }

    /**
     * A page without end.
     *
     * @param source writes it, on a thread of its own, until the client or the daemon goes: then
     *     the thread is interrupted and writing fails, and {@code source} returns by that exception
     */
    record Stream(String type, Source source) implements WebAnswer {}

    /** Writes a page; what is to arrive at once is flushed. */
    @FunctionalInterface
    interface Source {
        void write(Writer out) throws IOException;
    }
}
