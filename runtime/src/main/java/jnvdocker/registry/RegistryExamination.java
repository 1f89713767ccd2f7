package jnvdocker.registry;

import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Checks a registry's file for damage. */
final class RegistryExamination {
    /** The rows that decide about GPUs are a small part of a long history. */
    private static final List<String> WHAT_COUNTS =
            List.of(
                    "SELECT * FROM lease JOIN claim ON claim.id = lease.claim WHERE until IS NULL",
                    "SELECT * FROM claim JOIN claim_gpu ON claim_gpu.claim = claim.id"
                            + " WHERE forgotten IS NULL",
                    "SELECT * FROM mount",
                    "SELECT * FROM gpu",
                    "SELECT * FROM ticket",
                    "SELECT * FROM cordon");

    /** Queries of the same rows by a table and by each index that keeps a GPU from two holders. */
    private static final List<List<String>> AGREE =
            List.of(
                    List.of(
                            "SELECT id FROM lease NOT INDEXED WHERE until IS NULL ORDER BY +id",
                            "SELECT id FROM lease INDEXED BY one_lease WHERE until IS NULL"
                                    + " ORDER BY +id",
                            "SELECT id FROM lease INDEXED BY lease_by_end WHERE until IS NULL"
                                    + " ORDER BY +id"),
                    List.of(
                            "SELECT lease || gpu FROM lease_gpu NOT INDEXED WHERE live ORDER BY 1",
                            "SELECT lease || gpu FROM lease_gpu INDEXED BY live_gpu WHERE live"
                                    + " ORDER BY 1",
                            "SELECT lease || gpu FROM lease_gpu INDEXED BY live_parent WHERE live"
                                    + " ORDER BY 1"));

    private RegistryExamination() {}

    /**
     * Checks all of it, which takes seconds for a hundred thousand leases.
     *
     * @throws SQLException with the code of damage when there is some
     */
    static void whole(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                var check = statement.executeQuery("PRAGMA integrity_check(1)")) {
            if (!check.next() || !check.getString(1).equals("ok")) {
                throw damage(check.getString(1));
            }
        }
    }

    /**
     * Checks what decides which holder gets a GPU: no table is read through more than twice, which
     * takes a tenth of a second for as many.
     *
     * @throws SQLException with the code of damage when there is some
     */
    static void atWhatCounts(Connection connection) throws SQLException {
        for (String query : WHAT_COUNTS) {
            rows(connection, query);
        }
        for (List<String> same : AGREE) {
            List<String> first = rows(connection, same.getFirst());
            for (String query : same.subList(1, same.size())) {
                if (!rows(connection, query).equals(first)) {
                    throw damage("an index differs from its table: " + query);
                }
            }
        }
    }

    private static List<String> rows(Connection connection, String query) throws SQLException {
        List<String> all = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                var rows = statement.executeQuery(query)) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                for (int i = 1; i <= columns; i++) {
                    String value = rows.getString(i);
                    if (columns == 1) {
                        all.add(value);
                    }
                }
            }
        }
        return all;
    }

    /** The exception for damage, with the evidence of it. */
    static SQLException damage(String what) {
        return new SQLiteException(what, SQLiteErrorCode.SQLITE_CORRUPT);
    }
}
