package jnvdocker.rest;

import jnvdocker.web.WebAnswer;

import java.io.IOException;
import java.io.Writer;
import java.time.Duration;
import java.util.Optional;

/** Server-sent events, for a client that reads them as they come. */
final class FeedStream implements WebAnswer.Source {
    static final String TYPE = "text/event-stream";

    /** How long a reader is to wait before it comes back, in milliseconds. */
    private static final int RETRY = 2000;

    private final EventFeed feed;
    private final Optional<String> last;
    private final Duration quiet;

    /**
     * @param last the id of the last event that the client has received; empty if there is none
     * @param quiet the time without an event after which a comment shows that the connection is
     *     alive
     */
    FeedStream(EventFeed feed, Optional<String> last, Duration quiet) {
        this.feed = feed;
        this.last = last;
        this.quiet = quiet;
    }

    @Override
    public void write(Writer out) throws IOException {
        try (EventLog.Reader reader = feed.open(last)) {
            out.write("retry: " + RETRY + "\n\n");
            for (FeedEvent event : reader.missed()) {
                out.write(event.text());
            }
            out.flush();
            while (!reader.isOver()) {
                Optional<FeedEvent> event = reader.next(quiet);
                out.write(event.map(FeedEvent::text).orElse(": nothing has happened\n\n"));
                out.flush();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
