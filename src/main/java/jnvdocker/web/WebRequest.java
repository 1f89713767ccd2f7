package jnvdocker.web;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * An HTTP request for a page, which was let through.
 *
 * @param path decoded, {@code /v1.0/gpu/info/json}
 * @param query the decoded values of each parameter, in the order in which they came
 * @param trusted whether it came through the daemon's own socket, which only root and the socket's
 *     group can open; others came over TCP, where every user of this host can connect
 * @param uid of the client, as the kernel reports it; empty over TCP
 * @param lastEvent the id of the last event that the client has received, if it requests the
 *     following ones
 */
public record WebRequest(
        String path,
        Map<String, List<String>> query,
        boolean trusted,
        OptionalInt uid,
        Optional<String> lastEvent) {
    public WebRequest {
        query = Map.copyOf(query);
    }

    /** Returns the first value of a parameter. */
    public Optional<String> parameter(String name) {
        return query.getOrDefault(name, List.of()).stream().findFirst();
    }
}
