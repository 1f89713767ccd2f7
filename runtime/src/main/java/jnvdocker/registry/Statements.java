package jnvdocker.registry;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.LinkedHashMap;

/**
 * The statements of one connection, kept for the next time: SQLite takes longer to parse one than
 * to do what it says. Each is used by one transaction at a time.
 */
final class Statements {
    /** More than there are; what a text is put together for is not kept for ever. */
    private static final int MOST = 128;

    private final Connection connection;
    private final LinkedHashMap<String, PreparedStatement> kept =
            new LinkedHashMap<>(16, 0.75f, true);

    Statements(Connection connection) {
        this.connection = connection;
    }

    /** The statement with these parameters; the reader of its rows closes them. */
    PreparedStatement of(String sql, Object... parameters) throws SQLException {
        PreparedStatement statement = kept.get(sql);
        if (statement == null) {
            makeRoom();
            statement = connection.prepareStatement(sql);
            kept.put(sql, statement);
        }
        for (int i = 0; i < parameters.length; i++) {
            statement.setObject(i + 1, parameters[i]);
        }
        return statement;
    }

    /** Forgets all: the driver makes an end of one that has failed. */
    void clear() throws SQLException {
        for (PreparedStatement statement : kept.values()) {
            statement.close();
        }
        kept.clear();
    }

    private void makeRoom() throws SQLException {
        if (kept.size() >= MOST) {
            kept.pollFirstEntry().getValue().close();
        }
    }
}
