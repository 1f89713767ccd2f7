package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.number;
import static jnvdocker.lease.TestingLeases.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Origin;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.Ticket;
import jnvdocker.request.GpuRequest;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Origins in the registry and in claim files, as this release writes them and as earlier ones did.
 */
class StoredOriginTest {
    private static final String URL = "unix:///run/other.sock";

    /** The engine and the image as an earlier release wrote them, and the origin that they mean. */
    private static final List<Earlier> EARLIER =
            List.of(
                    new Earlier("ABCD:EFGH", "cuda", container(Optional.of("cuda"))),
                    new Earlier("ABCD:EFGH", "?", container(Optional.empty())),
                    new Earlier(
                            URL, "cuda", new Origin.OtherEngineContainer(URL, Optional.of("cuda"))),
                    new Earlier("", "python3", new Origin.HostProcess("python3")),
                    new Earlier("mesos", "train", new Origin.MesosTask("train")));

    /** The origins that earlier releases did not know. */
    private static final List<Origin> LATER =
            List.of(
                    new Origin.OciContainer("/run/runc", Optional.of("cuda")),
                    new Origin.OciContainer("", Optional.empty()),
                    new Origin.Pod("928cd30c-f6b5-4009-8df9-e7341ebd34a1", "team-a", "train-7"),
                    new Origin.Pod("928cd30c-f6b5-4009-8df9-e7341ebd34a1", "", ""),
                    Origin.Pod.UNKNOWN);

    @TempDir private Path folder;

    private record Earlier(String engine, String image, Origin origin) {}

    private static Origin container(Optional<String> image) {
        return new Origin.EngineContainer("ABCD:EFGH", image);
    }

    private static Claim claim(int number, Origin origin) {
        return new Claim(
                "%012x".formatted(number),
                origin,
                ALICE,
                List.of(ClaimedGpu.of(TestingLeases.A)),
                TestingLeases.THEN,
                Optional.empty());
    }

    private LeaseRegistry open() throws IOException {
        return LeaseRegistry.open(folder, "boot", HostClock.steady(() -> TestingLeases.THEN));
    }

    /**
     * The registry has a claim of each kind, each with a lease that has ended, and the first with a
     * live one.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void eachIsKnownInARegistryOfAnEarlierSchema(int schema) throws Exception {
        lay(schema);
        for (int i = 0; i < EARLIER.size(); i++) {
            Earlier earlier = EARLIER.get(i);
            String id = "%012x".formatted(i);
            sql(
                    folder,
                    "INSERT INTO claim (id, engine, uid, owner, image, created, volume, container,"
                            + " name, released) VALUES ('%s', '%s', 1, 'alice', '%s', %d, 1, 'c',"
                                    .formatted(id, earlier.engine(), earlier.image(), i)
                            + " 'n', 1)");
            sql(
                    folder,
                    "INSERT INTO claim_gpu (claim, gpu, position, minor) VALUES ('%s', 'GPU-%d', 0, 0)"
                            .formatted(id, i));
            sql(
                    folder,
                    "INSERT INTO lease (claim, holder, boot, pid, start, since, until, evidence)"
                            + " VALUES ('%s', 'client', 'boot', 1, 1, 0, 1, 'seen')".formatted(id));
        }
        sql(
                folder,
                "INSERT INTO lease (claim, holder, boot, pid, start, since)"
                        + " VALUES ('000000000000', 'container', 'boot', 1, 1, 2)");
        sql(folder, "INSERT INTO lease_gpu (lease, gpu) SELECT max(id), 'GPU-0' FROM lease");
        sql(folder, "INSERT INTO mount (claim, use) VALUES ('000000000000', 'use')");

        List<Origin> origins = EARLIER.stream().map(Earlier::origin).toList();
        try (LeaseRegistry registry = open()) {
            List<Claim> claims = registry.claims().all();
            assertEquals(origins, claims.stream().map(Claim::origin).toList());
            assertEquals(5, registry.claims().withVolume().size());
            assertEquals(
                    Optional.of(new Claim.ContainerRef("c", "n")), claims.getFirst().container());
            assertEquals(
                    origins.reversed(),
                    registry.history().past(9).stream().map(it -> it.claim().origin()).toList());
            assertEquals(1, registry.liveOf("000000000000").orElseThrow().mounts());
        }
        assertEquals(10, number(folder, "PRAGMA user_version"));
        assertEquals(
                0,
                number(folder, "SELECT count(*) FROM pragma_foreign_key_check"),
                "all are found");
        assertEquals(
                3,
                number(
                        folder,
                        "SELECT count(*) FROM sqlite_schema WHERE type = 'index'"
                                + " AND tbl_name = 'claim' AND sql IS NOT NULL"));
    }

    /** Before schema 4, a place in the queue does not state what it is for. */
    @ParameterizedTest
    @ValueSource(ints = {2, 4, 5})
    void eachIsKnownInTheQueueOfAnEarlierSchema(int schema) throws Exception {
        lay(schema);
        for (int i = 0; i < EARLIER.size(); i++) {
            Earlier earlier = EARLIER.get(i);
            sql(
                    folder,
                    schema < 4
                            ? "INSERT INTO ticket (boot, pid, start, uid, owner, request, since)"
                                    + " VALUES ('boot', %d, 1, 1, 'alice', '1', 0)".formatted(i)
                            : "INSERT INTO ticket (boot, pid, start, uid, owner, request, since,"
                                    + " engine, image)"
                                    + " VALUES ('boot', %d, 1, 1, 'alice', '1', 0, '%s', '%s')"
                                            .formatted(i, earlier.engine(), earlier.image()));
        }
        sql(folder, "DELETE FROM ticket WHERE pid = 4");
        try (LeaseRegistry registry = open()) {
            for (Ticket ticket : registry.tickets()) {
                Earlier earlier = EARLIER.get(ticket.client().pid());
                boolean said = schema >= 4 && !earlier.image().equals("?");
                assertEquals(
                        said ? Optional.of(earlier.origin()) : Optional.empty(), ticket.origin());
            }
            Ticket next = registry.addTicket(TestingLeases.ticket(0, ALICE, new GpuRequest.All()));
            assertEquals(6, next.id(), "no number is used again");
            assertEquals(Optional.of(TestingLeases.CUDA), next.origin());
        }
    }

    private void lay(int schema) throws IOException {
        Files.createFile(folder.resolve("registry.db"));
        for (int version = 1; version <= schema; version++) {
            try (var in = LeaseRegistry.class.getResourceAsStream("schema-" + version + ".sql")) {
                sql(folder, new String(in.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        sql(folder, "PRAGMA user_version = " + schema);
    }

    private static List<Origin> origins() {
        return Stream.concat(EARLIER.stream().map(Earlier::origin), LATER.stream()).toList();
    }

    /** The registry has the schema before, with a live lease. */
    @Test
    void everythingOfTheSchemaBeforeIsKept() throws Exception {
        lay(6);
        sql(
                folder,
                "INSERT INTO claim (id, origin, engine, image, uid, owner, created, volume,"
                        + " container, name, released, stopped)"
                        + " VALUES ('000000000000', 'engine', 'ABCD:EFGH', NULL, 1001, 'alice', 5,"
                        + " 1, 'c', 'n', 1, 1)");
        sql(
                folder,
                "INSERT INTO claim_gpu (claim, gpu, position, minor)"
                        + " VALUES ('000000000000', 'GPU-0', 0, 0)");
        sql(
                folder,
                "INSERT INTO lease (claim, holder, boot, pid, start, since)"
                        + " VALUES ('000000000000', 'container', 'boot', 1, 1, 2)");
        sql(folder, "INSERT INTO lease_gpu (lease, gpu) SELECT max(id), 'GPU-0' FROM lease");
        // A registry that is opened without its generation is taken for an older one.
        RegistryDatabase.open(folder).close();
        assertEquals(1, number(folder, "SELECT released FROM claim"));
        try (LeaseRegistry registry = open()) {
            Claim claim = registry.claims().claim("000000000000").orElseThrow();
            assertEquals(container(Optional.empty()), claim.origin());
            assertEquals(Optional.of(new Claim.ContainerRef("c", "n")), claim.container());
            assertEquals(1, registry.live().size());
            assertEquals(Optional.empty(), registry.claims().made("000000000000"));
        }
        assertEquals(1, number(folder, "SELECT stopped FROM claim"));
        assertEquals(0, number(folder, "SELECT count(*) FROM pragma_foreign_key_check"));
    }

    @Test
    void eachIsReadAsItWasWritten() throws Exception {
        assertEquals(
                EnumSet.allOf(StoredOrigin.Kind.class),
                origins().stream()
                        .map(it -> StoredOrigin.of(it).kind())
                        .collect(Collectors.toSet()));
        ClaimFiles files = new ClaimFiles(folder);
        try (LeaseRegistry registry = open()) {
            for (int i = 0; i < origins().size(); i++) {
                Claim claim = claim(i, origins().get(i));
                registry.claims().restore(claim, false);
                files.write(claim);
                assertEquals(Optional.of(claim), registry.claims().claim(claim.id()));
                assertEquals(Optional.of(claim), files.read(claim.id()));
            }
        }
    }

    /**
     * To an earlier release, a file without an engine is a process's, and one without an image has
     * "?".
     */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "0 | 'origin':'engine','engine':'ABCD:EFGH','uid':1001,'owner':'alice','image':'cuda'",
                "1 | 'origin':'engine','engine':'ABCD:EFGH','uid':1001,'owner':'alice'",
                "2 | 'origin':'other_engine','engine':'unix:///run/other.sock','uid':1001,"
                        + "'owner':'alice','image':'cuda'",
                "3 | 'origin':'process','uid':1001,'owner':'alice','image':'python3'",
                "4 | 'origin':'mesos','uid':1001,'owner':'alice','image':'train'"
            })
    void aFileSaysIt(int which, String keys) throws Exception {
        Claim claim = claim(which, EARLIER.get(which).origin());
        ClaimFiles files = new ClaimFiles(folder);
        files.write(claim);
        String text =
                Files.readString(files.folder(claim.id()).resolve("claim.json"))
                        .replaceAll("\\s", "")
                        .replace('"', '\'');
        assertTrue(text.contains("," + keys + ",'created'"), text);
    }

    @Test
    void eachIsReadInAFileOfAnEarlierRelease() throws Exception {
        ClaimFiles files = new ClaimFiles(folder);
        for (int i = 0; i < EARLIER.size(); i++) {
            Earlier earlier = EARLIER.get(i);
            String id = "%012x".formatted(i);
            Files.createDirectories(files.folder(id));
            Files.writeString(
                    files.folder(id).resolve("claim.json"),
                    """
                    {
                      "claim" : "%s",
                      "engine" : "%s",
                      "uid" : 1001,
                      "owner" : "alice",
                      "image" : "%s",
                      "created" : %d,
                      "gpus" : [ {
                        "uuid" : "%s",
                        "index" : 0,
                        "minor" : 3
                      } ]
                    }\
                    """
                            .formatted(
                                    id,
                                    earlier.engine(),
                                    earlier.image(),
                                    TestingLeases.THEN.toEpochMilli(),
                                    TestingLeases.A.uuid()));
            assertEquals(Optional.of(claim(i, earlier.origin())), files.read(id));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "'origin':'cell','engine':'e','image':'cuda'",
                "'origin':'engine','image':'cuda'",
                "'origin':'process'",
                "'image':'cuda'"
            })
    void aFileThatDoesNotSayItIsNotUsed(String keys) throws Exception {
        ClaimFiles files = new ClaimFiles(folder);
        String id = "%012x".formatted(0);
        Files.createDirectories(files.folder(id));
        Files.writeString(
                files.folder(id).resolve("claim.json"),
                "{%s,'gpus':[{'uuid':'GPU-a'}]}".formatted(keys).replace('\'', '"'));
        assertEquals(Optional.empty(), files.read(id));
    }

    /** The database would not accept it, so a disk must have caused it. */
    @Test
    void aClaimOfNoKindIsDamage() throws Exception {
        try (LeaseRegistry registry = open()) {
            registry.claims().restore(claim(0, EARLIER.getFirst().origin()), false);
            sql(folder, "PRAGMA ignore_check_constraints = ON; UPDATE claim SET origin = 'angine'");
            RegistryException e =
                    assertThrows(RegistryException.class, () -> registry.claims().all());
            assertTrue(e.getMessage().contains("a claim has no origin that is known"));
        }
        try (LeaseRegistry registry = open()) {
            assertEquals(List.of(), registry.claims().all());
        }
        try (var files = Files.list(folder)) {
            assertTrue(files.anyMatch(it -> it.getFileName().toString().contains(".damaged-")));
        }
    }
}
