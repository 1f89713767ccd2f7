package jnvdocker.registry;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** SQL with parameters, inside one transaction. */
final class Transaction {
    private final Statements statements;
    private final List<Runnable> after = new ArrayList<>();
    private boolean changed;

    Transaction(Statements statements) {
        this.statements = statements;
    }

    /** Makes an object of a row. */
    @FunctionalInterface
    interface Row<T> {
        T of(ResultSet row) throws SQLException;
    }

    /** Returns how many rows it has changed. */
    int update(String sql, Object... parameters) throws SQLException {
        int rows = statements.of(sql, parameters).executeUpdate();
        changed |= rows > 0;
        return rows;
    }

    /** Whether any row was changed. */
    boolean hasChanged() {
        return changed;
    }

    /** Does something once all of this is on disk, outside of any lock. */
    void afterwards(Runnable task) {
        after.add(task);
    }

    List<Runnable> after() {
        return after;
    }

    <T> List<T> list(Row<T> row, String sql, Object... parameters) throws SQLException {
        try (ResultSet rows = statements.of(sql, parameters).executeQuery()) {
            List<T> all = new ArrayList<>();
            while (rows.next()) {
                all.add(row.of(rows));
            }
            return all;
        }
    }

    /** The first row, if there is one. */
    <T> Optional<T> first(Row<T> row, String sql, Object... parameters) throws SQLException {
        return list(row, sql, parameters).stream().findFirst();
    }
}
