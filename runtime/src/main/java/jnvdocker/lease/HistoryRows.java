package jnvdocker.lease;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What the leases of the past come to, added up by the database, and their end. */
final class HistoryRows {
    private HistoryRows() {}

    /**
     * @param gpu the UUID of the one that counts; empty counts all
     */
    static List<GpuTime.Use> use(
            Transaction transaction, Instant from, Instant until, Optional<String> gpu)
            throws SQLException {
        // A lease has a row for each of its GPUs. The name is of the row with the latest end:
        // beside a single max() SQLite takes plain columns from the row that has it.
        String sql =
                "SELECT uid, owner, max(last_ms) AS last, sum(max(0, last_ms - first_ms)) AS"
                    + " millis, count(DISTINCT id) AS leases, count(DISTINCT iif(holder ="
                    + " 'container', claim, NULL)) AS containers, sum(live) AS held FROM (SELECT"
                    + " uid, owner, lease.id AS id, lease.claim AS claim, holder, max(since, ?) AS"
                    + " first_ms, min(ifnull(until, ?), ?) AS last_ms, until IS NULL AS live FROM"
                    + " lease JOIN claim ON claim.id = lease.claim JOIN lease_gpu ON"
                    + " lease_gpu.lease = lease.id WHERE (until IS NULL OR until > ?)"
                        + (gpu.isPresent() ? " AND gpu = ?" : "")
                        + ") GROUP BY uid ORDER BY millis DESC, last DESC, uid";
        long begin = from.toEpochMilli();
        long end = until.toEpochMilli();
        List<Object> parameters = new ArrayList<>(List.of(begin, end, end, begin));
        gpu.ifPresent(parameters::add);
        return transaction.list(HistoryRows::use, sql, parameters.toArray());
    }

    private static GpuTime.Use use(ResultSet row) throws SQLException {
        return new GpuTime.Use(
                new Owner(row.getInt("uid"), row.getString("owner")),
                Duration.ofMillis(row.getLong("millis")),
                row.getInt("leases"),
                row.getInt("containers"),
                row.getInt("held"),
                Instant.ofEpochMilli(row.getLong("last")));
    }

    /**
     * The UUIDs of GPUs that were given back once, also of those that the host has not any more.
     */
    static List<String> gpus(Transaction transaction) throws SQLException {
        return transaction.list(row -> row.getString(1), "SELECT uuid FROM gpu ORDER BY uuid");
    }

    /**
     * Deletes leases that had ended by then, and claims that were forgotten by then and have no
     * lease left. Of each no more than a limit: others wait for the registry meanwhile.
     *
     * @return how many leases and claims
     */
    static int deleteUntil(Transaction transaction, Instant then, int limit) throws SQLException {
        long time = then.toEpochMilli();
        String leases = "(SELECT id FROM lease WHERE until < ? ORDER BY until, id LIMIT ?)";
        transaction.update("DELETE FROM lease_gpu WHERE lease IN " + leases, time, limit);
        int gone = transaction.update("DELETE FROM lease WHERE id IN " + leases, time, limit);
        String claims =
                "(SELECT id FROM claim WHERE forgotten < ? AND NOT EXISTS"
                        + " (SELECT 1 FROM lease WHERE lease.claim = claim.id)"
                        + " ORDER BY forgotten, rowid LIMIT ?)";
        for (String child : List.of("mount", "claim_gpu")) {
            transaction.update("DELETE FROM " + child + " WHERE claim IN " + claims, time, limit);
        }
        return gone + transaction.update("DELETE FROM claim WHERE id IN " + claims, time, limit);
    }
}
