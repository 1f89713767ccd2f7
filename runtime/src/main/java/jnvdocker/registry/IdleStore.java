package jnvdocker.registry;

import jnvdocker.lease.IdleSource;

import java.io.IOException;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The idle times of held GPUs, on disk. Times are milliseconds since this boot. */
public final class IdleStore {
    private final RegistryDatabase database;
    private final String boot;

    IdleStore(RegistryDatabase database, String boot) {
        this.database = database;
        this.boot = boot;
    }

    /**
     * A GPU that is idle.
     *
     * @param lease the number of the lease that it is held under
     * @param gpu its UUID
     * @param atLeast whether it may have been idle before: no sample was taken then
     * @param last when it was last seen to be idle
     */
    public record Idle(
            long lease, String gpu, IdleSource source, long since, boolean atLeast, long last) {}

    /**
     * An hour of a lease's GPU.
     *
     * @param number 0 is the first since the lease began
     */
    public record Hour(long lease, String gpu, long number) {}

    /** Returns what an earlier daemon of this boot wrote of leases that are live. */
    public List<Idle> idle() throws IOException {
        return database.transaction(transaction ->
                transaction.list(
                        IdleStore::idle,
                        "SELECT idle_now.lease, gpu, source, idle_now.since, at_least, last"
                                + " FROM idle_now JOIN lease ON lease.id = idle_now.lease"
                                + " WHERE until IS NULL AND boot = ? ORDER BY 1, 2, 3",
                        boot));
    }

    private static Idle idle(ResultSet row) throws SQLException {
        return new Idle(
                row.getLong(1),
                row.getString(2),
                IdleSource.valueOf(row.getString(3).toUpperCase(Locale.ROOT)),
                row.getLong(4),
                row.getBoolean(5),
                row.getLong(6));
    }

    /**
     * Replaces the GPUs that are idle, and adds idle time to the leases' hours.
     *
     * @param more milliseconds; those of leases that are deleted by now are left out
     */
    public void write(Collection<Idle> idle, Map<Hour, Long> more) throws IOException {
        database.transaction(transaction -> {
            transaction.update("DELETE FROM idle_now");
            for (Idle each : idle) {
                transaction.update(
                        "INSERT INTO idle_now (lease, gpu, source, since, at_least, last)"
                                + " VALUES (?, ?, ?, ?, ?, ?)",
                        each.lease(),
                        each.gpu(),
                        each.source().name().toLowerCase(Locale.ROOT),
                        each.since(),
                        each.atLeast() ? 1 : 0,
                        each.last());
            }
            for (Map.Entry<Hour, Long> each : more.entrySet()) {
                transaction.update(
                        "INSERT INTO idle (lease, gpu, hour, millis) SELECT id, ?2, ?3, ?4"
                                + " FROM lease WHERE id = ?1"
                                + " ON CONFLICT DO UPDATE SET millis = millis + excluded.millis",
                        each.getKey().lease(),
                        each.getKey().gpu(),
                        each.getKey().number(),
                        each.getValue());
            }
            return null;
        });
    }
}
