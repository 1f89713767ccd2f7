package jnvdocker.registry;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The claims that a transaction has changed, or whose lease or mounts it has: a table {@code
 * touched} that one connection has in memory. SQLite itself adds to it, by triggers, so that no
 * writer can forget to. The claim {@code ''} stands for all that belongs to no claim.
 */
final class Touched {
    /** A condition on rows. */
    static final String IS_TOUCHED = "IN (SELECT claim FROM touched)";

    /** The tables that the ledger is read from, with the claim of a row. */
    private static final Map<String, String> TABLES =
            Map.of(
                    "claim", "%s.id",
                    "lease", "%s.claim",
                    "mount", "%s.claim",
                    "gpu", "''",
                    "cordon", "''",
                    "booking", "''");

    /** The changes of a row, with the names by which a trigger has it: a lease may pass on. */
    private static final Map<String, List<String>> CHANGES =
            Map.of(
                    "INSERT", List.of("NEW"),
                    "UPDATE", List.of("NEW", "OLD"),
                    "DELETE", List.of("OLD"));

    private Touched() {}

    /** Begins to note changes that this connection makes. */
    static void note(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(
                    // No key: what a trigger does about a conflict depends on the statement that
                    // fires it.
                    "CREATE TEMP TABLE touched (claim TEXT NOT NULL) STRICT");
            for (var table : TABLES.entrySet()) {
                for (var change : CHANGES.entrySet()) {
                    statement.executeUpdate(
                            "CREATE TEMP TRIGGER "
                                    + table.getKey()
                                    + change.getKey()
                                    + " AFTER "
                                    + change.getKey()
                                    + " ON "
                                    + table.getKey()
                                    + " BEGIN INSERT INTO touched "
                                    + change.getValue().stream()
                                            .map(row -> "SELECT " + table.getValue().formatted(row))
                                            .collect(Collectors.joining(" UNION "))
                                    + "; END");
                }
            }
        }
    }

    /** The claims that were changed since this was last cleared. */
    static Set<String> in(Transaction transaction) throws SQLException {
        return Set.copyOf(
                transaction.list(row -> row.getString(1), "SELECT DISTINCT claim FROM touched"));
    }

    /** Forgets all. */
    static void clear(Transaction transaction) throws SQLException {
        transaction.update("DELETE FROM touched");
    }
}
