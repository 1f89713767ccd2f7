package jnvdocker.registry;

import jnvdocker.lease.Cordon;
import jnvdocker.lease.Owner;

import java.sql.SQLException;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;

/** The GPUs that were cordoned by command, in the registry. */
final class CordonRows {
    private CordonRows() {}

    /** By UUID. */
    static Map<String, Cordon.ByCommand> all(Transaction transaction) throws SQLException {
        Map<String, Cordon.ByCommand> cordons = new HashMap<>();
        transaction.list(
                row ->
                        cordons.put(
                                row.getString("gpu"),
                                new Cordon.ByCommand(
                                        new Owner(row.getInt("uid"), row.getString("owner")),
                                        Instant.ofEpochMilli(row.getLong("since")),
                                        row.getString("reason"))),
                "SELECT gpu, uid, owner, reason, since FROM cordon");
        return cordons;
    }

    /** One without a reason leaves a cordoned GPU as it is. */
    static void put(Transaction transaction, String gpu, Cordon.ByCommand cordon)
            throws SQLException {
        transaction.update(
                (cordon.reason().isEmpty() ? "INSERT OR IGNORE" : "INSERT OR REPLACE")
                        + " INTO cordon (gpu, uid, owner, reason, since)"
                        + " VALUES (?, ?, ?, ?, ?)",
                gpu,
                cordon.owner().uid(),
                cordon.owner().name(),
                cordon.reason(),
                cordon.since().toEpochMilli());
    }

    static boolean remove(Transaction transaction, String gpu) throws SQLException {
        return transaction.update("DELETE FROM cordon WHERE gpu = ?", gpu) == 1;
    }
}
