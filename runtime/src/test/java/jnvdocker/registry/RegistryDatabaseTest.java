package jnvdocker.registry;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.posix.FileErrors;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPInputStream;

@Attack(
        by = "a broken disk",
        what = "one wrong byte in `registry.db-wal`",
        result = "noticed by the count of changes; nothing is given twice")
@Attack(
        by = "a broken disk",
        what = "damage deep in a long history",
        result = "found while it is used; nothing is given out until the restart")
@Attack(
        by = "a fault",
        what = "torn, damaged, truncated, unwritable files",
        result =
                "damaged files are kept and the state is rebuilt; on a full or read-only disk a"
                        + " run is refused with 125, and a start in docker's output")
class RegistryDatabaseTest {
    private static final int PAGE = 4096;

    @TempDir Path directory;
    private Path file;

    @BeforeEach
    void nameFile() {
        file = directory.resolve("registry.db");
    }

    @Test
    void isMadeForRootAlone() throws Exception {
        RegistryDatabase.open(directory).close();
        assertEquals(
                "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    }

    @Test
    void keepsWhatWasCommittedBeforeACrash() throws Exception {
        crashed(50);
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            assertEquals(50, count(database));
        }
    }

    @Test
    void makesTheSchemaInAFileOfVersionZero() throws Exception {
        sql("PRAGMA user_version = 0");
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            assertEquals(0, count(database));
        }
        assertNotEquals(0, version());
        try (RegistryDatabase database = filled(directory, 1)) {
            assertEquals(1, count(database));
        }
        assertEquals(List.of(), setAside());
    }

    @Test
    void aSchemaThatCannotBeMadeLeavesVersionZero() throws Exception {
        sql("CREATE TABLE lease (x)");
        RegistryException e =
                assertThrows(RegistryException.class, () -> RegistryDatabase.open(directory));
        assertTrue(e.getMessage().contains("table lease already exists"), e.getMessage());
        assertEquals(0, version());
        sql("SELECT x FROM lease");
        assertThrows(SQLException.class, () -> sql("SELECT * FROM claim"));
    }

    @Test
    void anotherSchemaIsRefusedAndLeftAlone() throws Exception {
        filled(directory, 1).close();
        int own = version();
        sql("PRAGMA user_version = 2");
        byte[] before = Files.readAllBytes(file);
        RegistryException e =
                assertThrows(RegistryException.class, () -> RegistryDatabase.open(directory));
        assertEquals(
                file
                        + " has the schema of another version of jnvdocker (2, not "
                        + own
                        + "); install that version again",
                e.getMessage());
        assertArrayEquals(before, Files.readAllBytes(file));
        assertEquals(List.of(), setAside());
    }

    /** SQLite, too, treats a file of a single byte as empty. */
    @ParameterizedTest
    @ValueSource(strings = {"", "S"})
    void anEmptyFileIsANewRegistry(String content) throws Exception {
        Files.writeString(file, content);
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            assertEquals(0, count(database));
        }
        assertEquals(List.of(), setAside());
    }

    @Test
    void theLogOfARegistryThatIsGoneIsNotUsed() throws Exception {
        crashed(50);
        Files.delete(file);
        assertTrue(Files.exists(directory.resolve("registry.db-wal")));
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            assertEquals(0, count(database));
        }
    }

    @Test
    void fileThatIsNoRegistryIsKeptBesideAndReplaced() throws Exception {
        byte[] garbage = "this was a registry\n".repeat(1000).getBytes();
        Files.write(file, garbage);
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            assertEquals(0, count(database));
        }
        assertEquals(1, setAside().size());
        assertArrayEquals(garbage, Files.readAllBytes(setAside().getFirst()));
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 99, 100, 101, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE, 20 * PAGE + 7})
    void aCutOffFileIsKeptBeside(int length) throws Exception {
        filled(directory, 2000).close();
        assertTrue(Files.size(file) > 21 * PAGE);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(length);
        }
        byte[] damaged = Files.readAllBytes(file);
        assertReplaced(damaged);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 5, 10, 20})
    void aZeroedPageIsNoticed(int page) throws Exception {
        filled(directory, 2000).close();
        overwrite(page, new byte[PAGE]);
        assertReplaced(Files.readAllBytes(file));
    }

    /** A disk leaves it so if it had written a table, but not its index, when the power went. */
    @Test
    void anIndexThatIsOlderThanItsTableIsNoticed() throws Exception {
        filled(directory, 2).close();
        hold(1, "GPU-a");
        byte[] older = page(rootOf("live_gpu"));
        sql("UPDATE lease SET until = 2, evidence = 'seen' WHERE until IS NULL");
        hold(2, "GPU-b");
        overwrite(rootOf("live_gpu"), older);
        assertReplaced(Files.readAllBytes(file));
    }

    @Test
    void damageDuringUseSaysWhatToDo() throws Exception {
        filled(directory, 2000).close();
        byte[] damaged;
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            // Drops the pages in memory, which it would not read again.
            database.transaction(transaction -> transaction.update("PRAGMA shrink_memory"));
            byte[] noise = new byte[PAGE];
            Arrays.fill(noise, (byte) 0x5a);
            for (int page = 1; page < Files.size(file) / PAGE; page++) {
                overwrite(page, noise);
            }
            damaged = Files.readAllBytes(file);
            RegistryException e = assertThrows(RegistryException.class, () -> count(database));
            assertEquals(
                    "cannot use the registry "
                            + file
                            + ": [SQLITE_CORRUPT] The database disk image is malformed (database"
                            + " disk image is malformed); restart jnvdockerd, which keeps the"
                            + " damaged file and makes a new one",
                    e.getMessage());
            String next = assertThrows(RegistryException.class, () -> count(database)).getMessage();
            assertTrue(next.startsWith("the registry " + file + " is damaged ("), next);
            assertTrue(next.contains("; restart jnvdockerd, which keeps"), next);
        }
        assertReplaced(damaged);
    }

    /** Only the data that decides is checked at the start: clients wait. */
    @Test
    void damageInALongHistoryIsNoticedWhenItIsRead() throws Exception {
        filled(directory, 6000).close();
        assertTrue(Files.size(file) > 1 << 20);
        hold(1, "GPU-a");
        overwrite(leafOf("lease_of_claim"), new byte[PAGE]);
        byte[] damaged = Files.readAllBytes(file);
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            assertEquals(
                    "GPU-a",
                    database.transaction(transaction ->
                            transaction
                                    .first(row -> row.getString(1), "SELECT gpu FROM lease_gpu")
                                    .orElseThrow()));
            assertThrows(RegistryException.class, () -> readAll(database));
            String message =
                    assertThrows(RegistryException.class, () -> readAll(database)).getMessage();
            assertTrue(
                    message.startsWith("the registry " + file + " is damaged ("),
                    message::toString);
        }
        assertReplaced(damaged);
    }

    private static int readAll(RegistryDatabase database) throws IOException {
        return database.reading(transaction ->
                transaction
                        .first(
                                row -> row.getInt(1),
                                "SELECT count(*) FROM lease INDEXED BY lease_of_claim"
                                        + " WHERE claim > ''")
                        .orElseThrow());
    }

    @ParameterizedTest
    @ValueSource(strings = {"live_gpu", "live_parent", "one_lease"})
    void anIndexThatDecidesAndIsOlderThanItsTableIsNoticedAtOnce(String index) throws Exception {
        filled(directory, 6000).close();
        hold(1, "GPU-a");
        byte[] older = page(rootOf(index));
        sql("UPDATE lease SET until = 2, evidence = 'seen' WHERE until IS NULL");
        hold(2, "GPU-b");
        overwrite(rootOf(index), older);
        assertReplaced(Files.readAllBytes(file));
    }

    @Test
    void copiedFilesBecomeRootsAlone() throws Exception {
        crashed(50);
        List<Path> parts = List.of(file, directory.resolve("registry.db-wal"));
        for (Path part : parts) {
            Files.setPosixFilePermissions(part, PosixFilePermissions.fromString("rw-r--r--"));
        }
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            assertEquals(50, count(database));
            for (String part : List.of("", "-wal", "-shm")) {
                assertEquals(
                        "rw-------",
                        PosixFilePermissions.toString(
                                Files.getPosixFilePermissions(Path.of(file + part))));
            }
        }
    }

    @Test
    void whereNoFileCanBeMadeThatIsSaid() {
        IOException e =
                assertThrows(IOException.class, () -> RegistryDatabase.open(Path.of("/sys/fs")));
        assertTrue(FileErrors.describe(e).startsWith("/sys/fs/registry.db: "), e.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"nfs", "nfs4", "cifs", "fuse.sshfs"})
    void aDirectoryOfAnotherMachineIsRefused(String type) {
        RegistryException e =
                assertThrows(
                        RegistryException.class,
                        () -> RegistryDatabase.refuseNetworkDirectory(Path.of("/state"), type));
        assertEquals(
                "/state is on a file system of another machine ("
                        + type
                        + "), where the registry's locks do not work; set JNVDOCKER_STATE_DIR to"
                        + " a directory on a local disk",
                e.getMessage());
    }

    private void assertReplaced(byte[] damaged) throws Exception {
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            assertEquals(0, count(database));
        }
        assertEquals(1, setAside().size());
        assertArrayEquals(damaged, Files.readAllBytes(setAside().getFirst()));
        try (RegistryDatabase database = RegistryDatabase.open(directory)) {
            assertEquals(0, count(database));
        }
        assertEquals(1, setAside().size());
    }

    /**
     * Copies the files of a database before anything is closed or tidied up, as after a SIGKILL.
     */
    private void crashed(int claims) throws IOException {
        Path other = Files.createDirectory(directory.resolve("other"));
        RegistryDatabase database = filled(other, claims);
        try (database;
                var parts = Files.list(other)) {
            for (Path part : parts.toList()) {
                Files.copy(part, directory.resolve(part.getFileName()));
            }
        }
    }

    /** A registry with that many more claims, each with a lease that has ended. */
    private static RegistryDatabase filled(Path directory, int claims) throws IOException {
        RegistryDatabase database = RegistryDatabase.open(directory);
        int before = count(database);
        database.transaction(transaction -> {
            for (int i = before; i < before + claims; i++) {
                String id = "%012x".formatted(i);
                transaction.update(
                        "INSERT INTO claim (id, origin, engine, image, uid, owner, created)"
                                + " VALUES (?, 'engine', 'e', 'cuda', 0, 'root', 0)",
                        id);
                transaction.update(
                        "INSERT INTO lease (claim, holder, boot, pid, start, since, until,"
                                + " evidence) VALUES (?, 'reserved', 'boot', 1, 1, 0, 1, 'seen')",
                        id);
            }
            return null;
        });
        return database;
    }

    private static int count(RegistryDatabase database) throws IOException {
        return database.transaction(transaction ->
                transaction
                        .first(
                                row -> row.getInt(1),
                                "SELECT count(*) FROM claim JOIN lease"
                                        + " ON claim.id = lease.claim")
                        .orElseThrow());
    }

    private void hold(int claim, String gpu) throws Exception {
        sql(
                "INSERT INTO lease (claim, holder, boot, pid, start, since)"
                        + " VALUES ('%012x', 'reserved', 'boot', 1, 1, 0)".formatted(claim - 1));
        sql("INSERT INTO lease_gpu (lease, gpu) SELECT max(id), '" + gpu + "' FROM lease");
    }

    private int rootOf(String name) throws Exception {
        return number("SELECT rootpage - 1 FROM sqlite_schema WHERE name = '" + name + "'");
    }

    /** Some page of an index that is not its first. */
    private int leafOf(String index) throws Exception {
        return number("SELECT max(pageno) - 1 FROM dbstat WHERE name = '" + index + "'");
    }

    private int version() throws Exception {
        return number("PRAGMA user_version");
    }

    private List<String> names(String sql) throws Exception {
        List<String> names = new ArrayList<>();
        try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            while (result.next()) {
                names.add(result.getString(1));
            }
        }
        return names;
    }

    private void oldFile() throws IOException {
        try (var in =
                new GZIPInputStream(
                        RegistryDatabaseTest.class.getResourceAsStream("registry-1.db.gz"))) {
            Files.copy(in, file);
        }
    }

    private int number(String sql) throws Exception {
        try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            return result.getInt(1);
        }
    }

    private void script(String sql) throws Exception {
        try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                var statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    private void sql(String sql) throws Exception {
        try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private byte[] page(int page) throws IOException {
        return Arrays.copyOfRange(Files.readAllBytes(file), page * PAGE, (page + 1) * PAGE);
    }

    private void overwrite(int page, byte[] bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes), (long) page * PAGE);
        }
    }

    private List<Path> setAside() throws IOException {
        try (var entries = Files.list(directory)) {
            return entries.filter(path -> path.getFileName().toString().contains(".damaged-"))
                    .filter(path -> !path.toString().matches(".*-(wal|shm|journal)"))
                    .toList();
        }
    }
}
