package jnvdocker.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.TestingLeases;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.LongStream;

/** A history that is longer than one batch. */
class PastLeasesTest {
    private static final int COUNT = 3 * PastLeases.BATCH + 7;
    private static final Instant NOW = Instant.ofEpochMilli(1_000_000);

    @TempDir Path directory;
    private LeaseRegistry registry;
    private final List<Integer> batches = new ArrayList<>();

    /** Adds one lease after the other, by two users in turn, every third of GPU-b. */
    @BeforeEach
    void fill() throws Exception {
        LeaseRegistry.open(directory, "boot", TestingLeases.steady(() -> NOW), TestingLeases.RANDOM)
                .close();
        try (var connection =
                        DriverManager.getConnection(
                                "jdbc:sqlite:" + directory.resolve("registry.db"));
                var statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            String numbers =
                    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                            + COUNT
                            + ") ";
            statement.execute(
                    "INSERT INTO claim (id, origin, engine, uid, owner, created) "
                            + numbers
                            + "SELECT format('%012x', i), 'engine', 'e', 1000 + i % 2, 'alice', 0"
                            + " FROM n");
            statement.execute(
                    "INSERT INTO claim_gpu (claim, gpu, position, minor) "
                            + numbers
                            + "SELECT format('%012x', i), 'GPU-a', 0, 0 FROM n");
            statement.execute(
                    "INSERT INTO lease (claim, holder, boot, pid, start, since, until, evidence) "
                            + numbers
                            + "SELECT format('%012x', i), 'reserved', 'b', 1, 1, i, i + 1, 'it is"
                            + " gone' FROM n");
            statement.execute(
                    "INSERT INTO lease_gpu (lease, gpu, live) SELECT id,"
                            + " iif(id % 3 = 0, 'GPU-b', 'GPU-a'), 0 FROM lease");
            connection.commit();
        }
        registry =
                LeaseRegistry.open(
                        directory, "boot", TestingLeases.steady(() -> NOW), TestingLeases.RANDOM);
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    private List<Long> ids(PastLeases.Source source, int limit) throws IOException {
        List<Long> ids = new ArrayList<>();
        PastLeases.Source counted =
                (before, some) -> {
                    List<Lease> batch = source.before(before, some);
                    batches.add(batch.size());
                    return batch;
                };
        new PastLeases(counted, limit).each(lease -> ids.add(lease.id()));
        return ids;
    }

    private static List<Long> numbers(java.util.function.LongPredicate which) {
        return LongStream.rangeClosed(1, COUNT).filter(which).boxed().toList().reversed();
    }

    @Test
    void allAreReadSomeAtATime() throws IOException {
        assertEquals(numbers(_ -> true), ids(registry.history()::past, 100_000));
        assertEquals(List.of(250, 250, 250, 7), batches);
    }

    @Test
    void noMoreAreReadThanRequested() throws IOException {
        assertEquals(300, ids(registry.history()::past, 300).size());
        assertEquals(List.of(250, 50), batches);
        assertEquals(List.of(), ids(registry.history()::past, 0));
    }

    @Test
    void ofOneGpuLikewise() throws IOException {
        PastLeases.Source source =
                (before, some) ->
                        registry.history()
                                .pastOf("GPU-b", Instant.EPOCH, Optional.empty(), before, some);
        assertEquals(numbers(id -> id % 3 == 0), ids(source, 100_000));
        assertTrue(batches.stream().allMatch(size -> size <= PastLeases.BATCH));
        Instant from = Instant.ofEpochMilli(500);
        PastLeases.Source alices =
                (before, some) ->
                        registry.history()
                                .pastOf(
                                        "GPU-b",
                                        from,
                                        Optional.of(Set.of(new Owner(1000, "alice"))),
                                        before,
                                        some);
        assertEquals(numbers(id -> id % 6 == 0 && id >= 500), ids(alices, 100_000));
    }

    /** Others write while a reader reads a batch. */
    @Test
    void nothingIsKeptOpenBetween() throws IOException, SQLException {
        registry.history().past(Long.MAX_VALUE, 1);
        new PastLeases(registry.history()::past, 100_000)
                .each(lease -> {
                    if (lease.id() == COUNT) {
                        registry.history().deleteUntil(NOW, 10);
                    }
                });
        try (var connection =
                        DriverManager.getConnection(
                                "jdbc:sqlite:" + directory.resolve("registry.db"));
                var statement = connection.createStatement();
                var row = statement.executeQuery("PRAGMA wal_checkpoint(TRUNCATE)")) {
            assertEquals(0, row.getInt(1), "somebody reads an old state");
        }
    }
}
