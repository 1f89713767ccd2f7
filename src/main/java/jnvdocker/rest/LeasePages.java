package jnvdocker.rest;

import jnvdocker.command.gpu.GpuDocuments;
import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebAnswer.Page;
import jnvdocker.web.WebPages;
import jnvdocker.web.WebRequest;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The pages about GPUs, leases and the queue, for clients that may open the daemon's socket. */
final class LeasePages implements WebPages {
    private static final String PREFIX = "/v2/";
    private static final Duration QUIET = Duration.ofSeconds(15);

    private final GpuDocuments documents;
    private final EventFeed feed;
    private final Path socket;

    /**
     * @param socket the daemon's own
     */
    LeasePages(GpuDocuments documents, EventFeed feed, Path socket) {
        this.documents = documents;
        this.feed = feed;
        this.socket = socket;
    }

    @Override
    public Optional<WebAnswer> answer(WebRequest request) throws IOException {
        if (!request.path().startsWith(PREFIX)) {
            return Optional.empty();
        }
        if (!request.trusted()) {
            return Optional.of(refused());
        }
        return switch (request.path().substring(PREFIX.length())) {
            case "gpus" -> json(documents.gpus());
            case "leases" -> json(documents.leases());
            case "queue" -> json(documents.queue());
            case "events" ->
                    Optional.of(
                            new WebAnswer.Stream(
                                    EventStream.TYPE,
                                    new EventStream(feed, request.lastEvent(), QUIET)));
            default -> Optional.empty();
        };
    }

    private Page refused() {
        Refusal why =
                new Refusal(
                        "holders of GPUs are not shown over TCP, which every user can reach",
                        "send the request to " + socket);
        return new Page(403, WebAnswer.TEXT, why.message() + "\n");
    }

    private static Optional<WebAnswer> json(String document) {
        return Optional.of(Page.of(WebAnswer.JSON, document + "\n"));
    }
}
