package jnvdocker.rest;

import java.util.Locale;

/**
 * Something that has happened, as server-sent events report it.
 *
 * @param id of no other event, not even of another daemon's; a state has that of the event before
 * @param data a document without line breaks
 */
record FeedEvent(String id, Kind kind, String data) {
    /** Its name is the event's, in small letters. */
    enum Kind {
        /** Everything, at the beginning of a stream and when the host has other GPUs. */
        STATE,
        GRANTED,
        RECOVERED,
        RELEASED,
        REFUSED,
        GPU,
        QUEUE
    }

    String text() {
        return "id: %s\nevent: %s\ndata: %s\n\n"
                .formatted(id, kind.name().toLowerCase(Locale.ROOT), data);
    }
}
