package jnvdocker.registry;

import java.sql.SQLException;

/** Carries the failure of a statement through a decision that knows no SQL. */
@SuppressWarnings("serial")
final class FailedStatement extends RuntimeException {
    private final SQLException failure;

    private FailedStatement(SQLException failure) {
        super(failure);
        this.failure = failure;
    }

    /** Statements of one transaction. */
    @FunctionalInterface
    interface Statements<T> {
        T perform() throws SQLException;
    }

    /** Performs statements, the failure of which is thrown as this. */
    static <T> T perform(Statements<T> statements) {
        try {
            return statements.perform();
        } catch (SQLException e) {
            throw new FailedStatement(e);
        }
    }

    SQLException failure() {
        return failure;
    }
}
