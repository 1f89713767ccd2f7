package jnvdocker.notify;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * An event, as programs read it in JSON: every key is always there.
 *
 * @param event what has happened: {@code granted}
 * @param message for people
 * @param gpus UUIDs
 * @param pid of the process whose end frees the GPUs, or that uses them without a lease
 * @param program of that process, where it is in no container of a lease
 */
record Event(
        String event,
        String at,
        String message,
        String user,
        Long uid,
        List<String> gpus,
        String claim,
        Long lease,
        String purpose,
        String container,
        String containerId,
        Long pid,
        String program,
        Long seconds,
        String reason) {
    private static final String PREFIX = "JNVDOCKER_";

    /**
     * Returns the event of a line of the log.
     *
     * @param fields as the journal has them
     */
    static Event of(String event, Instant at, String message, Map<String, String> fields) {
        return new Event(
                event,
                at.toString(),
                message,
                fields.get(PREFIX + "USER"),
                number(fields.get(PREFIX + "UID")),
                Optional.ofNullable(fields.get(PREFIX + "GPUS"))
                        .map(uuids -> List.of(uuids.split(",")))
                        .orElse(List.of()),
                fields.get(PREFIX + "CLAIM"),
                number(fields.get(PREFIX + "LEASE")),
                fields.get(PREFIX + "PURPOSE"),
                fields.get(PREFIX + "CONTAINER"),
                fields.get(PREFIX + "CONTAINER_ID"),
                number(fields.get(PREFIX + "PID")),
                fields.get(PREFIX + "PROGRAM"),
                number(fields.get(PREFIX + "SECONDS")),
                fields.get(PREFIX + "REASON"));
    }

    private static Long number(String text) {
        return text == null ? null : Long.valueOf(text);
    }
}
