package jnvdocker.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.List;

/** The rules that the database itself enforces: plain SQL, as a faulty program would send. */
class RegistrySchemaTest {
    private static final String UNIQUE = "UNIQUE constraint failed";
    private static final String ANOTHER = "the GPU has another holder";
    private static final String WITH_ITS_LEASE = "a GPU is held as long as its lease";

    @TempDir Path directory;
    private RegistryDatabase database;

    @BeforeEach
    void openWithThreeLeases() throws Exception {
        database = RegistryDatabase.open(directory);
        for (int id = 1; id <= 3; id++) {
            claim(id, null);
        }
    }

    @AfterEach
    void close() throws Exception {
        database.close();
    }

    @Test
    void aGpuHasOneHolder() throws Exception {
        hold(1, "GPU-a");
        assertRefused(ANOTHER, () -> hold(2, "GPU-a"));
        hold(2, "GPU-b");
    }

    @Test
    void theNextHolderComesAfterTheEndOfTheLast() throws Exception {
        hold(1, "GPU-a");
        end(1);
        hold(2, "GPU-a");
        assertRefused(ANOTHER, () -> hold(3, "GPU-a"));
    }

    @Test
    void claimsOfOnePartyHaveTheSameGpu() throws Exception {
        claim(4, "claim1");
        hold(1, "GPU-a");
        hold(4, "GPU-a");
        assertRefused(ANOTHER, () -> hold(2, "GPU-a"));
        end(1);
        // It is free when the last of them has ended, and the first may come back before.
        assertRefused(ANOTHER, () -> hold(2, "GPU-a"));
        begin(5, "claim1");
        hold(5, "GPU-a");
        end(4);
        end(5);
        hold(2, "GPU-a");
    }

    @Test
    void aPartyOutlivesItsFirstClaim() throws Exception {
        claim(4, "claim1");
        hold(4, "GPU-a");
        end(1);
        sql("DELETE FROM lease WHERE id = 1");
        sql("DELETE FROM claim WHERE id = 'claim1'");
        claim(5, "claim1");
        hold(5, "GPU-a");
        assertRefused(ANOTHER, () -> hold(2, "GPU-a"));
    }

    @Test
    void aPartyIsOfOneUserAndForGood() throws Exception {
        claim(4, "claim1");
        assertRefused(
                "a party is of one user",
                () ->
                        sql(
                                "INSERT INTO claim (id, origin, engine, uid, owner, created,"
                                        + " beside) VALUES ('claim5', 'engine', 'e', 1, 'eve', 0,"
                                        + " 'claim1')"));
        assertRefused(
                "a claim stays in its party",
                () -> sql("UPDATE claim SET beside = 'claim1' WHERE id = 'claim2'"));
        assertRefused(
                "a claim stays in its party",
                () -> sql("UPDATE claim SET beside = NULL WHERE id = 'claim4'"));
    }

    @Test
    void aPartyHasNoPartsOfItsGpu() throws Exception {
        claim(4, "claim1");
        hold(1, "GPU-a");
        assertRefused(ANOTHER, () -> holdPart(4, "MIG-1", "GPU-a"));
        hold(4, "GPU-a");
    }

    @Test
    void partsOfAGpuThatIsHeldAreRefused() throws Exception {
        hold(1, "GPU-a");
        assertRefused(ANOTHER, () -> holdPart(2, "MIG-1", "GPU-a"));
        end(1);
        holdPart(2, "MIG-1", "GPU-a");
    }

    @Test
    void aGpuOfWhichAPartIsHeldIsRefused() throws Exception {
        holdPart(1, "MIG-1", "GPU-a");
        assertRefused(ANOTHER, () -> hold(2, "GPU-a"));
        end(1);
        hold(2, "GPU-a");
    }

    @Test
    void partsOfOneGpuHaveTheirOwnHolders() throws Exception {
        holdPart(1, "MIG-1", "GPU-a");
        holdPart(2, "MIG-2", "GPU-a");
        assertRefused(ANOTHER, () -> holdPart(3, "MIG-2", "GPU-a"));
    }

    @Test
    void sharesOfOneGpuHaveTheirOwnHolders() throws Exception {
        share(1, "GPU-a", 10, 40);
        share(2, "GPU-a", 30, 40);
        assertRefused("the GPU has not so much memory left", () -> share(3, "GPU-a", 1, 40));
        end(1);
        share(3, "GPU-a", 10, 40);
    }

    @Test
    void aWholeGpuAndSharesOfItExcludeEachOther() throws Exception {
        claim(4, "claim1");
        share(1, "GPU-a", 10, 40);
        assertRefused(ANOTHER, () -> hold(2, "GPU-a"));
        // Neither does one party have both.
        assertRefused(ANOTHER, () -> hold(4, "GPU-a"));
        assertRefused(ANOTHER, () -> holdPart(2, "MIG-1", "GPU-a"));
        end(1);
        hold(2, "GPU-a");
        assertRefused(ANOTHER, () -> share(3, "GPU-a", 10, 40));
    }

    @ParameterizedTest
    @CsvSource({"10, NULL, NULL", "NULL, 40, NULL", "0, 40, NULL", "10, 40, 'GPU-a'"})
    void aShareIsOfTheMemoryOfAWholeGpu(String share, String memory, String parent) {
        assertRefused(
                "CHECK constraint failed",
                () ->
                        sql(
                                "INSERT INTO lease_gpu (lease, gpu, share, memory, parent)"
                                        + " VALUES (1, 'GPU-a', %s, %s, %s)",
                                share,
                                memory,
                                parent.equals("NULL") ? parent : "'" + parent + "'"));
    }

    /** A row is for an instance of GPU-a, for GPU-a, or for another GPU. */
    @ParameterizedTest
    @CsvSource({
        "MIG-1 GPU-a, GPU-a",
        "GPU-a, MIG-1 GPU-a",
        "MIG-1 GPU-a, MIG-1 GPU-a",
        "GPU-a, GPU-a"
    })
    void aGpuIsBookedOnceAtATime(String first, String second) throws Exception {
        book(1, first, 10, 20);
        for (int from : List.of(5, 10, 19)) {
            assertRefused("the GPU is booked in that time", () -> book(2, second, from, from + 10));
        }
        book(3, second, 0, 10);
        book(4, second, 20, 30);
        book(5, "MIG-2 GPU-b", 10, 20);
        book(6, "GPU-c", 10, 20);
    }

    private void book(int id, String gpu, int from, int until) throws RegistryException {
        String[] words = gpu.split(" ");
        sql(
                "INSERT INTO booking (id, gpu, parent, uid, owner, since, until)"
                        + " VALUES (%d, '%s', %s, 0, 'root', %d, %d)",
                id, words[0], words.length > 1 ? "'" + words[1] + "'" : "NULL", from, until);
    }

    @Test
    void aClaimHasOneLiveLease() throws Exception {
        assertRefused(
                UNIQUE,
                () ->
                        sql(
                                "INSERT INTO lease (claim, holder, boot, pid, start, since)"
                                        + " VALUES ('claim1', 'reserved', 'b', 1, 1, 0)"));
    }

    @Test
    void aLeaseThatHasEndedHoldsNothing() throws Exception {
        end(1);
        assertRefused(WITH_ITS_LEASE, () -> hold(1, "GPU-a"));
    }

    @Test
    void aLiveLeaseHoldsAllOfItsGpus() throws Exception {
        assertRefused(
                WITH_ITS_LEASE,
                () -> sql("INSERT INTO lease_gpu (lease, gpu, live)" + " VALUES (1, 'GPU-a', 0)"));
        hold(1, "GPU-a");
        assertRefused(WITH_ITS_LEASE, () -> sql("UPDATE lease_gpu SET live = 0"));
    }

    @Test
    void anEndIsFinal() throws Exception {
        hold(1, "GPU-a");
        end(1);
        assertRefused(
                "the lease has ended",
                () -> sql("UPDATE lease SET until = NULL, evidence = NULL WHERE id = 1"));
        assertRefused(
                "the lease has ended",
                () -> sql("UPDATE lease SET until = 2, evidence = 'again' WHERE id = 1"));
        sql(
                "UPDATE lease SET until = 1, until_up = 1, until_boot = 'a', evidence = 'seen'"
                        + " WHERE id = 2");
        for (String time : List.of("until_up = 2", "until_boot = 'b'", "until = NULL")) {
            assertRefused(
                    "the lease has ended", () -> sql("UPDATE lease SET %s WHERE id = 2", time));
        }
        assertRefused(WITH_ITS_LEASE, () -> sql("UPDATE lease_gpu SET live = 1"));
    }

    /** Every column, also one that is added some day. */
    @Test
    void heldGpuCannotBeExchanged() throws Exception {
        hold(1, "GPU-a");
        List<String> columns =
                column(
                        "SELECT name || iif(type = 'TEXT', ' = ''other', ' = 3')"
                                + " FROM pragma_table_info('lease_gpu')");
        assertEquals(8, columns.size(), columns::toString);
        for (String change : columns) {
            String set = change + (change.contains("'") ? "'" : "");
            assertRefused(WITH_ITS_LEASE, () -> sql("UPDATE lease_gpu SET %s", set));
        }
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '"',
            value = {
                "NOT NULL, NULL, 'e', 'cuda'",
                "CHECK, 'cell', 'e', 'cuda'",
                "CHECK, 'engine', NULL, 'cuda'",
                "CHECK, 'oci', NULL, 'cuda'",
                "CHECK, 'process', 'e', 'python3'",
                "CHECK, 'process', NULL, NULL",
                "CHECK, 'mesos', NULL, NULL"
            })
    void aClaimNamesItsOrigin(String rule, String origin, String engine, String image) {
        assertRefused(
                rule + " constraint failed",
                () ->
                        sql(
                                "INSERT INTO claim (id, origin, engine, image, uid, owner, created)"
                                        + " VALUES ('claim9', %s, %s, %s, 0, 'root', 0)",
                                origin, engine, image));
    }

    /** Whatever the code does: a row is kept for a year. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "claim SET owner",
                "claim SET name",
                "claim SET image",
                "claim SET engine",
                "claim SET container",
                "lease SET until = 1, evidence"
            })
    void foreignTextHasABound(String column) {
        assertRefused(
                "CHECK constraint failed", () -> sql("UPDATE %s = format('%%04097d', 0)", column));
    }

    @ParameterizedTest
    @ValueSource(strings = {"until = 1", "evidence = 'seen'"})
    void anEndHasATimeAndEvidence(String half) {
        assertRefused("CHECK constraint failed", () -> sql("UPDATE lease SET %s", half));
    }

    @Test
    void anEndTakesTheMountsAlongAndMarksTheGpusIdle() throws Exception {
        hold(1, "GPU-a");
        hold(1, "GPU-b");
        hold(2, "GPU-c");
        sql(
                "INSERT INTO mount (claim, use) VALUES ('claim1', 'u'), ('claim1', 'u'),"
                        + " ('claim2', 'v')");
        end(1);
        assertEquals(List.of("claim2 v"), column("SELECT claim || ' ' || use FROM mount"));
        assertEquals(List.of("GPU-a", "GPU-b"), column("SELECT uuid FROM gpu ORDER BY uuid"));
    }

    @Test
    void aLeaseNumberIsNeverUsedAgain() throws Exception {
        sql("DELETE FROM lease WHERE id = 3");
        sql(
                "INSERT INTO lease (claim, holder, boot, pid, start, since)"
                        + " VALUES ('claim3', 'reserved', 'b', 1, 1, 0)");
        assertEquals(List.of("4"), column("SELECT max(id) FROM lease"));
    }

    @Test
    void aRefusedTransactionLeavesNothingBehind() throws Exception {
        hold(1, "GPU-b");
        assertRefused(
                ANOTHER,
                () ->
                        database.transaction(transaction -> {
                            String insert = "INSERT INTO lease_gpu (lease, gpu) VALUES (2, ?)";
                            transaction.update(insert, "GPU-a");
                            return transaction.update(insert, "GPU-b");
                        }));
        assertEquals(List.of("1 GPU-b"), column("SELECT lease || ' ' || gpu FROM lease_gpu"));
    }

    /**
     * Makes a claim with a lease of the same number.
     *
     * @param beside the first claim of its party; null for itself
     */
    private void claim(int id, String beside) throws RegistryException {
        sql(
                "INSERT INTO claim (id, origin, engine, uid, owner, created, beside)"
                        + " VALUES ('claim%d', 'engine', 'e', 0, 'root', 0, %s)",
                id, beside == null ? "NULL" : "'" + beside + "'");
        begin(id, "claim" + id);
    }

    private void begin(int lease, String claim) throws RegistryException {
        sql(
                "INSERT INTO lease (id, claim, holder, boot, pid, start, since)"
                        + " VALUES (%d, '%s', 'reserved', 'b', 1, 1, 0)",
                lease, claim);
    }

    private void hold(int lease, String gpu) throws RegistryException {
        sql("INSERT INTO lease_gpu (lease, gpu) VALUES (%d, '%s')", lease, gpu);
    }

    private void share(int lease, String gpu, int share, int memory) throws RegistryException {
        sql(
                "INSERT INTO lease_gpu (lease, gpu, share, memory) VALUES (%d, '%s', %d, %d)",
                lease, gpu, share, memory);
    }

    private void holdPart(int lease, String part, String parent) throws RegistryException {
        sql(
                "INSERT INTO lease_gpu (lease, gpu, parent) VALUES (%d, '%s', '%s')",
                lease, part, parent);
    }

    private void end(int lease) throws RegistryException {
        sql("UPDATE lease SET until = 1, evidence = 'seen' WHERE id = %d", lease);
    }

    private void sql(String sql, Object... values) throws RegistryException {
        database.transaction(transaction -> transaction.update(sql.formatted(values)));
    }

    private List<String> column(String sql) throws RegistryException {
        return database.transaction(transaction -> transaction.list(row -> row.getString(1), sql));
    }

    private interface Attempt {
        void make() throws RegistryException;
    }

    private static void assertRefused(String reason, Attempt attempt) {
        String message = assertThrows(RegistryException.class, attempt::make).getMessage();
        assertEquals(reason, message.contains(reason) ? reason : message);
    }
}
