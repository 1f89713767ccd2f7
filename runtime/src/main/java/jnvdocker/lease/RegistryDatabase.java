package jnvdocker.lease;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The SQLite file {@code registry.db} with its schema, and one transaction on it at a time. A write
 * is in the log when its transaction returns; what a loss of power takes of it does not matter,
 * since the boot id is another one then.
 */
final class RegistryDatabase implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RegistryDatabase.class);
    private static final String NAME = "registry.db";
    private static final int SCHEMA = 4;
    private static final int BUSY_MILLIS = 5_000;
    private static final List<String> PARTS = List.of("", "-wal", "-shm", "-journal");

    private final Path file;
    private final Connection connection;
    private final ReentrantLock lock = new ReentrantLock();

    private RegistryDatabase(Path file, Connection connection) {
        this.file = file;
        this.connection = connection;
    }

    /**
     * Opens the registry, or makes an empty one where there is none or only a damaged one, which is
     * kept beside it.
     *
     * @throws RegistryException when a newer version has made it, or it can't be opened
     */
    static RegistryDatabase open(Path folder) throws IOException {
        Path file = folder.resolve(NAME);
        refuseNetworkFolder(folder, Files.getFileStore(folder).type());
        try {
            return openFile(file);
        } catch (SQLException e) {
            if (!isDamage(e)) {
                throw failure(file, "open", e);
            }
            setAside(file, e);
            try {
                return openFile(file);
            } catch (SQLException again) {
                throw failure(file, "open", again);
            }
        }
    }

    /** Something to do in one transaction. */
    @FunctionalInterface
    interface Work<T> {
        T in(Transaction transaction) throws SQLException;
    }

    /**
     * Does all of it or, when it throws, nothing.
     *
     * @throws RegistryException when the file can't be read or written
     */
    <T> T transaction(Work<T> work) throws RegistryException {
        lock.lock();
        try {
            return inTransaction(connection, work);
        } catch (SQLException e) {
            throw failure(file, "use", e);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Reads what was committed last, over a connection of its own: it may take long, and keeps
     * nobody from writing meanwhile.
     *
     * @throws RegistryException when the file can't be read
     */
    <T> T reading(Work<T> work) throws RegistryException {
        SQLiteConfig config = new SQLiteConfig();
        config.setReadOnly(true);
        config.setBusyTimeout(BUSY_MILLIS);
        try (Connection own =
                DriverManager.getConnection("jdbc:sqlite:" + file, config.toProperties())) {
            execute(own, "BEGIN");
            return work.in(new Transaction(own));
        } catch (SQLException e) {
            throw failure(file, "read", e);
        }
    }

    /**
     * By SQLite's own commands: when a write fails it may roll back by itself, and the driver, who
     * does not notice, would let what follows have no transaction at all.
     */
    private static <T> T inTransaction(Connection connection, Work<T> work) throws SQLException {
        execute(connection, "BEGIN IMMEDIATE");
        try {
            T result = work.in(new Transaction(connection));
            execute(connection, "COMMIT");
            return result;
        } catch (SQLException | RuntimeException | Error e) {
            rollBack(connection);
            throw e;
        }
    }

    private static void rollBack(Connection connection) {
        try {
            execute(connection, "ROLLBACK");
        } catch (SQLException e) {
            LOG.debug("rolled back already: {}", e.getMessage());
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    @Override
    public void close() throws RegistryException {
        lock.lock();
        try {
            connection.close();
        } catch (SQLException e) {
            throw failure(file, "close", e);
        } finally {
            lock.unlock();
        }
    }

    private static RegistryDatabase openFile(Path file) throws SQLException, IOException {
        if (!Files.exists(file)) {
            Files.createFile(
                    file,
                    PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rw-------")));
        }
        SQLiteConfig config = new SQLiteConfig();
        config.setJournalMode(SQLiteConfig.JournalMode.WAL);
        config.setSynchronous(SQLiteConfig.SynchronousMode.NORMAL);
        config.enforceForeignKeys(true);
        config.setBusyTimeout(BUSY_MILLIS);
        Connection connection =
                DriverManager.getConnection("jdbc:sqlite:" + file, config.toProperties());
        try {
            prepare(connection, file);
            return new RegistryDatabase(file, connection);
        } catch (SQLException | IOException | RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    private static void prepare(Connection connection, Path file) throws SQLException, IOException {
        int version;
        try (Statement statement = connection.createStatement()) {
            try (var check = statement.executeQuery("PRAGMA integrity_check(1)")) {
                if (!check.next() || !check.getString(1).equals("ok")) {
                    throw new SQLiteException(check.getString(1), SQLiteErrorCode.SQLITE_CORRUPT);
                }
            }
            try (var result = statement.executeQuery("PRAGMA user_version")) {
                version = result.next() ? result.getInt(1) : 0;
            }
        }
        if (version > SCHEMA) {
            throw new RegistryException(
                    file
                            + " is of schema "
                            + version
                            + ", made by a newer jnvdocker; this one knows "
                            + SCHEMA
                            + " at most, install the newer one again");
        }
        for (int next = version + 1; next <= SCHEMA; next++) {
            migrate(connection, next);
        }
    }

    private static void migrate(Connection connection, int version)
            throws SQLException, IOException {
        String schema;
        try (InputStream in =
                RegistryDatabase.class.getResourceAsStream("schema-" + version + ".sql")) {
            schema = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        inTransaction(
                connection,
                _ -> {
                    execute(connection, schema);
                    execute(connection, "PRAGMA user_version = " + version);
                    return null;
                });
    }

    /** SQLite's locks and its shared memory do not work over a network. */
    static void refuseNetworkFolder(Path folder, String type) throws RegistryException {
        if (type.startsWith("nfs") || type.equals("cifs") || type.startsWith("fuse.sshfs")) {
            throw new RegistryException(
                    folder
                            + " is on a file system of another machine ("
                            + type
                            + "), where the registry's locks do not work; set"
                            + " JNVDOCKER_STATE_DIR to a folder on a local disk");
        }
    }

    private static boolean isDamage(SQLException e) {
        return e instanceof SQLiteException sqlite
                && switch (sqlite.getResultCode()) {
                    case SQLITE_CORRUPT,
                            SQLITE_CORRUPT_INDEX,
                            SQLITE_CORRUPT_SEQUENCE,
                            SQLITE_NOTADB,
                            SQLITE_IOERR_SHORT_READ ->
                            true;
                    default -> false;
                };
    }

    private static void setAside(Path file, SQLException damage) throws IOException {
        String mark = ".damaged-" + Instant.now().toString().replace(":", "");
        for (String part : PARTS) {
            Path from = file.resolveSibling(file.getFileName() + part);
            if (Files.exists(from)) {
                Path to = file.resolveSibling(file.getFileName() + mark + part);
                Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
            }
        }
        LOG.error(
                "{} is damaged ({}); kept as {}, and made anew from what the containers say",
                file,
                damage.getMessage(),
                file.getFileName() + mark);
    }

    private static RegistryException failure(Path file, String what, SQLException e) {
        return new RegistryException(
                "cannot "
                        + what
                        + " the registry "
                        + file
                        + ": "
                        + e.getMessage()
                        + "; "
                        + remedy(e),
                e);
    }

    private static String remedy(SQLException e) {
        if (isDamage(e)) {
            return "restart jnvdockerd, which keeps the damaged file and makes a new one";
        }
        return e instanceof SQLiteException sqlite
                        && sqlite.getResultCode() == SQLiteErrorCode.SQLITE_BUSY
                ? "another program keeps it locked, end that one first"
                : "look at that disk's space, health and mount options";
    }
}
