package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.KillPoint;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.sqlite.JDBC;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** A kill point strikes at the given call, in a JVM in which SQLite writes. */
class KillPointTest {
    private static final int KILLED = 128 + 9;
    private static final int STEP = Boolean.getBoolean("tests.quick") ? 5 : 1;

    private Path directory;
    private Path database;

    /** Inserts two rows and reports each. */
    static final class Writer {
        public static void main(String[] arguments) throws SQLException {
            try (Connection connection = DriverManager.getConnection(arguments[0]);
                    Statement statement = connection.createStatement()) {
                for (int row = 0; row < 2; row++) {
                    statement.execute("INSERT INTO rows VALUES (" + row + ")");
                    System.out.println("committed");
                }
            }
        }
    }

    @BeforeEach
    void makeDirectory() {
        directory = Directories.make("sqlite");
        database = directory.resolve("registry.db");
    }

    @AfterEach
    void removeDirectory() {
        Directories.remove(directory);
    }

    /** Alternates between before a call and amid a call; a quick run takes only some of them. */
    @Test
    void killedAtAnyCallSqliteKeepsWhatWasCommitted() throws Exception {
        int calls = calls();
        for (int call = 1; call <= calls; call += STEP) {
            makeDatabase();
            try (KillPoint point = call % 2 == 0 ? KillPoint.amid(call) : KillPoint.before(call)) {
                Command.Result result = write(point);
                assertEquals(KILLED, result.exitCode(), result::toString);
                assertEquals(call, point.calls());
                long committed = result.out().lines().count();
                long rows = rowsOfSoundDatabase();
                // The last row may have been committed before it was reported.
                assertTrue(
                        rows == committed || rows == committed + 1,
                        rows + " rows at call " + call + ", " + result);
            }
        }
    }

    @Test
    void amidAWriteHalfOfItsBytesAreWritten() throws IOException {
        try (KillPoint point = KillPoint.amid(2)) {
            Command.Result result =
                    Command.of("dd", "if=/dev/zero", "of=" + database, "bs=4096", "count=3")
                            .with(point.environment())
                            .run();
            assertEquals(KILLED, result.exitCode(), result::toString);
            assertEquals(4096 + 2048, Files.size(database));
        }
    }

    @ParameterizedTest
    @CsvSource({"FULL, SQLITE_FULL", "IO_ERROR, SQLITE_IOERR", "READ_ONLY, SQLITE_IOERR"})
    void fromTheCallOnTheDiskFails(KillPoint.DiskError error, String said) throws Exception {
        makeDatabase();
        try (KillPoint point = KillPoint.failingFrom(12, error)) {
            Command.Result result = write(point);
            assertEquals(1, result.exitCode());
            assertTrue(result.err().contains(said), result::toString);
            assertTrue(point.calls() > 12, "the next one failed, too");
        }
        rowsOfSoundDatabase();
    }

    @Test
    void otherFilesAreNotCounted() throws Exception {
        database = directory.resolve("other.db");
        assertEquals(0, calls());
    }

    private int calls() throws Exception {
        makeDatabase();
        try (KillPoint point = KillPoint.never()) {
            write(point).ok();
            return point.calls();
        }
    }

    private void makeDatabase() throws SQLException {
        Directories.remove(directory);
        assertTrue(directory.toFile().mkdir());
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + database);
                Statement statement = connection.createStatement()) {
            statement.execute("PRAGMA journal_mode = WAL");
            statement.execute("CREATE TABLE rows (number INTEGER)");
        }
    }

    private Command.Result write(KillPoint point) throws URISyntaxException {
        return Command.of(
                        Path.of(System.getProperty("java.home"), "bin/java"),
                        "-XX:TieredStopAtLevel=1",
                        "--enable-native-access=ALL-UNNAMED",
                        // For sqlite-jdbc, which unpacks its library there; a killed process leaves
                        // it behind.
                        "-Djava.io.tmpdir=" + directory,
                        "-cp",
                        home(Writer.class) + ":" + home(JDBC.class),
                        Writer.class.getName(),
                        "jdbc:sqlite:" + database)
                .with(point.environment())
                .run();
    }

    private static Path home(Class<?> type) throws URISyntaxException {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    private long rowsOfSoundDatabase() throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + database);
                Statement statement = connection.createStatement()) {
            assertEquals("ok", value(statement, "PRAGMA integrity_check"));
            return Long.parseLong(value(statement, "SELECT count(*) FROM rows"));
        }
    }

    private static String value(Statement statement, String query) throws SQLException {
        try (ResultSet rows = statement.executeQuery(query)) {
            assertTrue(rows.next());
            return rows.getString(1);
        }
    }
}
