package jnvdocker.registry;

import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.lease.Ticket;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.InvalidGpuRequestException;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The queue in the registry. */
final class TicketRows {
    private static final String TICKET =
            "SELECT id, pid, start, uid, owner, request, since, origin, engine, image, gpus, time,"
                    + " priority, name";

    private TicketRows() {}

    /**
     * Those with the highest priority first, then first come first. Those of another boot go: their
     * processes cannot wait any more.
     */
    static List<Ticket> clear(Transaction transaction, String boot) throws SQLException {
        transaction.update("DELETE FROM ticket WHERE boot <> ?", boot);
        return transaction
                .list(TicketRows::ticket, TICKET + " FROM ticket ORDER BY priority DESC, id")
                .stream()
                .flatMap(Optional::stream)
                .toList();
    }

    /**
     * Adds a client's ticket. One that it has already keeps its place and its number, and its
     * origin, candidates, time, priority and container are replaced.
     */
    static Ticket add(
            Transaction transaction, String boot, Request request, int priority, Instant now)
            throws SQLException {
        ProcessId client = request.client();
        Requested requested = request.requested();
        StoredOrigin origin = StoredOrigin.of(request.origin());
        transaction.update(
                "INSERT INTO ticket (boot, pid, start, uid, owner, request, since,"
                        + " origin, engine, image, gpus, time, priority, name)"
                        + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                        + " ON CONFLICT DO UPDATE SET origin = excluded.origin,"
                        + " engine = excluded.engine, image = excluded.image,"
                        + " gpus = excluded.gpus, time = excluded.time,"
                        + " priority = excluded.priority, name = excluded.name",
                boot,
                client.pid(),
                client.startTime(),
                requested.owner().uid(),
                requested.owner().name(),
                requested.request().toString(),
                now.toEpochMilli(),
                origin.kind().word(),
                origin.engine().orElse(null),
                origin.image().orElse(null),
                String.join(",", requested.candidates()),
                LeaseRows.millis(requested.time()),
                priority,
                request.container().orElse(null));
        return transaction
                .first(
                        TicketRows::ticket,
                        TICKET + " FROM ticket WHERE boot = ? AND pid = ? AND start = ?",
                        boot,
                        client.pid(),
                        client.startTime())
                .flatMap(ticket -> ticket)
                .orElseThrow();
    }

    static void remove(Transaction transaction, long id) throws SQLException {
        transaction.update("DELETE FROM ticket WHERE id = ?", id);
    }

    /** Empty when the request or its origin cannot be read: its client requests again. */
    private static Optional<Ticket> ticket(ResultSet row) throws SQLException {
        Optional<Origin> origin = LeaseRows.origin(row);
        if (origin.isEmpty()) {
            return Optional.empty();
        }
        try {
            return Optional.of(
                    new Ticket(
                            row.getLong("id"),
                            new Request(
                                    new ProcessId(row.getInt("pid"), row.getLong("start")),
                                    new Requested(
                                            GpuRequest.parseOption(row.getString("request")),
                                            new Owner(row.getInt("uid"), row.getString("owner")),
                                            candidates(row.getString("gpus")),
                                            LeaseRows.time(row)),
                                    origin.get(),
                                    Optional.ofNullable(row.getString("name"))),
                            Instant.ofEpochMilli(row.getLong("since")),
                            row.getInt("priority")));
        } catch (InvalidGpuRequestException e) {
            return Optional.empty();
        }
    }

    private static Set<String> candidates(String gpus) {
        return gpus.isEmpty() ? Set.of() : Set.of(gpus.split(","));
    }
}
