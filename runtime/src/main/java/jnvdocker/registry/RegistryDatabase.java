package jnvdocker.registry;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.PrivateFile;
import jnvdocker.posix.RegularFile;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.zip.CRC32;

/**
 * The SQLite file {@code registry.db} with its schema, and one transaction on it at a time. A write
 * is in the log when its transaction returns; what a loss of power takes of it does not matter,
 * since the boot id is another one then.
 */
public final class RegistryDatabase implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RegistryDatabase.class);
    static final String NAME = "registry.db";

    private static final int READERS = 2;
    private static final String RESTART =
            "restart jnvdockerd, which keeps the damaged file and makes a new one";

    /**
     * The size up to which a file is checked whole before it is used, in some hundredths of a
     * second.
     */
    private static final long LONG_FILE = 1 << 20;

    private static final int BUSY_MILLIS = 5_000;
    private static final List<String> PARTS = List.of("", "-wal", "-shm", "-journal");

    private final Path file;

    /** Names the file that was opened, whatever is at its path later. */
    private final Object identity;

    private final Connection connection;
    private final Statements statements;

    /** The damage that was found; nothing reads or writes the file from then on. */
    private volatile Optional<String> damage = Optional.empty();

    private final ReentrantLock lock = new ReentrantLock();
    private Runnable first = () -> {};
    private Follower follower = _ -> () -> {};

    /** Each read has memory of its own outside of Java's, and a thread that it does not let go. */
    private final ExecutorService readers =
            Executors.newFixedThreadPool(
                    READERS, Thread.ofPlatform().daemon().name("registry-", 0).factory());

    private RegistryDatabase(Path file, Connection connection, Statements statements)
            throws IOException {
        this.file = file;
        this.identity = identity(file).orElseThrow();
        this.connection = connection;
        this.statements = statements;
    }

    /**
     * Opens the registry, or makes an empty one where there is none or only a damaged one, which is
     * kept beside it.
     *
     * @throws RegistryException when a newer version has made it, or it cannot be opened
     */
    static RegistryDatabase open(Path directory) throws IOException {
        Path file = directory.resolve(NAME);
        refuseNetworkDirectory(directory, fileSystem(directory));
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

    /** Has something done before each transaction; it may make one of its own. */
    void beforeEach(Runnable what) {
        first = what;
    }

    /** Keeps in memory a part of what is on disk. */
    @FunctionalInterface
    interface Follower {
        /**
         * Reads from the state that a transaction is about to commit all that it has {@link
         * Touched}.
         *
         * @return makes it the present one, once it is on disk; called before the next transaction
         */
        Runnable read(Transaction transaction) throws SQLException;
    }

    /** Adds a follower, which reads each committed state from now on. */
    void follow(Follower reader) {
        follower = reader;
    }

    /**
     * @throws RegistryException when damage was found since it was opened
     */
    void check() throws RegistryException {
        if (damage.isPresent()) {
            throw new RegistryException(
                    "the registry "
                            + file
                            + " is damaged ("
                            + damage.get()
                            + "), so it is not certain who holds which GPU",
                    RESTART);
        }
    }

    /**
     * Reads what decides about GPUs from the disk again, which takes a tenth of a second for a long
     * history.
     *
     * @throws RegistryException when it is damaged, or another file or none is at its path
     */
    void examine() throws IOException {
        if (!identity(file).equals(Optional.of(identity))) {
            check();
            throw new RegistryException(
                    file
                            + " was removed or replaced while jnvdockerd runs, which goes on with"
                            + " the file that it had opened",
                    "let nobody change it; at the next start of jnvdockerd, cordons, bookings and"
                            + " history are those of the file that is there then");
        }
        readingOver(own -> {
            RegistryExamination.atWhatCounts(own);
            return null;
        });
    }

    /** Empty when there is no such file. */
    private static Optional<Object> identity(Path file) throws IOException {
        try {
            return Optional.of(Files.readAttributes(file, BasicFileAttributes.class).fileKey());
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /**
     * Sets a file aside that turns out to be damaged: its content is not trusted, nothing is added
     * to it, and the next daemon makes a new one.
     */
    private RegistryException failed(String what, SQLException e) {
        if (isDamage(e)) {
            synchronized (this) {
                if (damage.isEmpty()) {
                    damage = Optional.of(e.getMessage());
                    try {
                        setAside(file, e);
                    } catch (IOException unmoved) {
                        LOG.error("{} is not set aside: {}", file, FileErrors.describe(unmoved));
                    }
                }
            }
        }
        return failure(file, what, e);
    }

    /** Something to do in one transaction. */
    @FunctionalInterface
    interface Work<T> {
        T in(Transaction transaction) throws SQLException;
    }

    /**
     * Does all of it or, when it throws, nothing.
     *
     * @throws RegistryException when the file cannot be read or written
     */
    <T> T transaction(Work<T> work) throws RegistryException {
        check();
        List<Runnable> after = new ArrayList<>();
        T result = locked(work, after);
        after.forEach(Runnable::run);
        return result;
    }

    private <T> T locked(Work<T> work, List<Runnable> after) throws RegistryException {
        lock.lock();
        try {
            first.run();
            Runnable[] committed = {() -> {}};
            T result =
                    inTransaction(
                            statements,
                            transaction -> {
                                T done = work.in(transaction);
                                if (transaction.hasChanged()) {
                                    committed[0] = follower.read(transaction);
                                    Touched.clear(transaction);
                                }
                                after.addAll(transaction.after());
                                return done;
                            });
            committed[0].run();
            return result;
        } catch (FailedStatement e) {
            throw failed("use", e.failure());
        } catch (SQLException e) {
            throw failed("use", e);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Reads the last committed state, over a connection of its own: it may take long, and keeps
     * nobody from writing meanwhile.
     *
     * @throws RegistryException when the file cannot be read
     */
    <T> T reading(Work<T> work) throws RegistryException {
        return readingOver(own -> work.in(new Transaction(new Statements(own))));
    }

    /** Something to read over a connection of its own. */
    @FunctionalInterface
    private interface Read<T> {
        T over(Connection own) throws SQLException;
    }

    private <T> T readingOver(Read<T> read) throws RegistryException {
        check();
        Future<T> reading = null;
        try {
            reading = readers.submit(() -> inReadTransaction(read));
            return reading.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException failed) {
                check(); // The file may have been set aside just before this opened it.
                throw failed("read", failed);
            }
            throw new IllegalStateException("reading the registry failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            reading.cancel(false);
            throw new RegistryException("the daemon is stopping", "try again", e);
        } catch (RejectedExecutionException e) {
            throw new RegistryException("the daemon is stopping", "try again", e);
        }
    }

    private <T> T inReadTransaction(Read<T> read) throws SQLException {
        try (Connection own = readOnly()) {
            execute(own, "BEGIN");
            return read.over(own);
        }
    }

    private Connection readOnly() throws SQLException {
        SQLiteConfig config = new SQLiteConfig();
        config.setReadOnly(true);
        config.setBusyTimeout(BUSY_MILLIS);
        return DriverManager.getConnection("jdbc:sqlite:" + file, config.toProperties());
    }

    /**
     * By SQLite's own commands: when a write fails it may roll back by itself, and the driver,
     * which does not notice, would let what follows have no transaction at all.
     */
    private static <T> T inTransaction(Statements statements, Work<T> work) throws SQLException {
        try {
            statements.of("BEGIN IMMEDIATE").executeUpdate();
            T result = work.in(new Transaction(statements));
            statements.of("COMMIT").executeUpdate();
            return result;
        } catch (SQLException | RuntimeException | Error e) {
            rollBack(statements);
            throw e;
        }
    }

    private static void rollBack(Statements statements) {
        try {
            statements.clear();
            statements.of("ROLLBACK").executeUpdate();
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
    public void close() throws IOException {
        readers.shutdown();
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
        for (String part : PARTS) {
            RegularFile.check(file.resolveSibling(file.getFileName() + part));
        }
        if (!Files.exists(file)) {
            PrivateFile.open(file).close();
        }
        // Every reader may lock one. A file that was copied here has the modes of its copier.
        for (String part : PARTS) {
            PrivateFile.close(file.resolveSibling(file.getFileName() + part));
        }
        SQLiteConfig config = new SQLiteConfig();
        config.setJournalMode(SQLiteConfig.JournalMode.WAL);
        config.setSynchronous(SQLiteConfig.SynchronousMode.NORMAL);
        config.setTempStore(SQLiteConfig.TempStore.MEMORY);
        config.enforceForeignKeys(true);
        config.setBusyTimeout(BUSY_MILLIS);
        Connection connection =
                DriverManager.getConnection("jdbc:sqlite:" + file, config.toProperties());
        try {
            Statements statements = new Statements(connection);
            prepare(connection, statements, file);
            Touched.note(connection);
            return new RegistryDatabase(file, connection, statements);
        } catch (SQLException | IOException | RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    private static void prepare(Connection connection, Statements statements, Path file)
            throws SQLException, IOException {
        boolean whole = Files.size(file) <= LONG_FILE;
        if (whole) {
            RegistryExamination.whole(connection);
        }
        int version;
        try (Statement statement = connection.createStatement()) {
            try (var result = statement.executeQuery("PRAGMA user_version")) {
                version = result.next() ? result.getInt(1) : 0;
            }
        }
        String schema = schema();
        int own = number(schema);
        if (version == 0) {
            makeSchema(connection, statements, schema);
        } else if (version != own) {
            throw new RegistryException(
                    file
                            + " has the schema of another version of jnvdocker ("
                            + version
                            + ", not "
                            + own
                            + ")",
                    "install that version again");
        }
        if (!whole) {
            RegistryExamination.atWhatCounts(connection);
        }
    }

    private static String schema() throws IOException {
        try (InputStream in = RegistryDatabase.class.getResourceAsStream("schema.sql")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Returns a number that no other schema is likely to have; never 0. */
    private static int number(String schema) {
        CRC32 sum = new CRC32();
        sum.update(schema.getBytes(StandardCharsets.UTF_8));
        return (int) sum.getValue() | 1;
    }

    private static void makeSchema(Connection connection, Statements statements, String schema)
            throws SQLException, IOException {
        inTransaction(
                statements,
                _ -> {
                    execute(connection, schema);
                    execute(connection, "PRAGMA user_version = " + number(schema));
                    return null;
                });
    }

    /**
     * The type of a directory's file system. In a chroot that is no mount point, /proc lists no
     * mount that the directory is on.
     */
    private static String fileSystem(Path directory) throws IOException {
        try {
            return Files.getFileStore(directory).type();
        } catch (FileSystemException e) {
            throw e;
        } catch (IOException e) {
            throw new RegistryException(
                    "cannot find the mount of " + directory + " (" + FileErrors.reason(e) + ")",
                    "in a chroot, make its directory a mount point first: mount --bind DIR DIR");
        }
    }

    /** SQLite's locks and its shared memory do not work over a network. */
    static void refuseNetworkDirectory(Path directory, String type) throws RegistryException {
        if (type.startsWith("nfs") || type.equals("cifs") || type.startsWith("fuse.sshfs")) {
            throw new RegistryException(
                    directory
                            + " is on a file system of another machine ("
                            + type
                            + "), where the registry's locks do not work",
                    "set JNVDOCKER_STATE_DIR to a directory on a local disk");
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
                "{} is damaged ({}); kept as {}, and rebuilt from what the containers say",
                file,
                damage.getMessage(),
                file.getFileName() + mark);
    }

    private static RegistryException failure(Path file, String what, SQLException e) {
        return new RegistryException(
                "cannot " + what + " the registry " + file + ": " + e.getMessage(), remedy(e), e);
    }

    private static String remedy(SQLException e) {
        if (isDamage(e)) {
            return RESTART;
        }
        return e instanceof SQLiteException sqlite
                        && sqlite.getResultCode() == SQLiteErrorCode.SQLITE_BUSY
                ? "another program keeps it locked, stop that process first"
                : "check that disk's space, health and mount options";
    }
}
