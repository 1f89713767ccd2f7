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

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Origins in the registry and in claim files. */
class StoredOriginTest {
    private static final List<Origin> ORIGINS =
            List.of(
                    container(Optional.of("cuda")),
                    container(Optional.empty()),
                    new Origin.HostProcess("python3"),
                    new Origin.MesosTask("train"),
                    new Origin.OciContainer("/run/runc", Optional.of("cuda")),
                    new Origin.OciContainer("", Optional.empty()),
                    new Origin.Pod("928cd30c-f6b5-4009-8df9-e7341ebd34a1", "team-a", "train-7"),
                    new Origin.Pod("928cd30c-f6b5-4009-8df9-e7341ebd34a1", "", ""),
                    Origin.Pod.UNKNOWN);

    @TempDir private Path directory;

    private static Origin container(Optional<String> image) {
        return new Origin.EngineContainer("ABCD:EFGH", image);
    }

    private static Claim claim(int number, Origin origin) {
        return new Claim(
                TestingLeases.key("%012x".formatted(number)),
                origin,
                ALICE,
                List.of(ClaimedGpu.of(TestingLeases.A)),
                TestingLeases.THEN,
                Optional.empty());
    }

    private LeaseRegistry open() throws IOException {
        return LeaseRegistry.open(
                directory,
                "boot",
                TestingLeases.steady(() -> TestingLeases.THEN),
                TestingLeases.RANDOM);
    }

    @Test
    void eachIsReadAsItWasWritten() throws Exception {
        assertEquals(
                EnumSet.allOf(Origin.Kind.class),
                ORIGINS.stream().map(it -> StoredOrigin.of(it).kind()).collect(Collectors.toSet()));
        ClaimFiles files = new ClaimFiles(directory);
        try (LeaseRegistry registry = open()) {
            for (int i = 0; i < ORIGINS.size(); i++) {
                Claim claim = claim(i, ORIGINS.get(i));
                registry.claims().restore(claim, false);
                files.write(claim);
                assertEquals(Optional.of(claim), registry.claims().claim(claim.id()));
                assertEquals(Optional.of(claim), files.read(claim.id()));
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "0 | 'origin':'engine','engine':'ABCD:EFGH','uid':1001,'owner':'alice','image':'cuda'",
                "1 | 'origin':'engine','engine':'ABCD:EFGH','uid':1001,'owner':'alice'",
                "2 | 'origin':'process','uid':1001,'owner':'alice','image':'python3'",
                "3 | 'origin':'mesos','uid':1001,'owner':'alice','image':'train'"
            })
    void aFileSaysIt(int which, String keys) throws Exception {
        Claim claim = claim(which, ORIGINS.get(which));
        ClaimFiles files = new ClaimFiles(directory);
        files.write(claim);
        String text =
                Files.readString(files.directory(claim.id()).resolve("claim.json"))
                        .replaceAll("\\s", "")
                        .replace('"', '\'');
        assertTrue(text.contains("," + keys + ",'created'"), text);
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
        ClaimFiles files = new ClaimFiles(directory);
        String id = "%012x".formatted(0);
        Files.createDirectories(files.directory(id));
        Files.writeString(
                files.directory(id).resolve("claim.json"),
                "{%s,'gpus':[{'uuid':'GPU-a'}]}".formatted(keys).replace('\'', '"'));
        assertEquals(Optional.empty(), files.read(id));
    }

    /** The database would not accept it, so a disk must have caused it. */
    @Test
    void aClaimOfNoKindIsDamage() throws Exception {
        try (LeaseRegistry registry = open()) {
            Claim claim = claim(0, ORIGINS.getFirst());
            registry.claims().restore(claim, false);
            sql(
                    directory,
                    "PRAGMA ignore_check_constraints = ON; UPDATE claim SET origin = 'angine'");
            RegistryException e =
                    assertThrows(
                            RegistryException.class, () -> registry.claims().created(claim.key()));
            assertTrue(e.getMessage().contains("a claim has no origin that is known"));
        }
        try (LeaseRegistry registry = open()) {
            assertEquals(List.of(), registry.claims().all());
        }
        try (var files = Files.list(directory)) {
            assertTrue(files.anyMatch(it -> it.getFileName().toString().contains(".damaged-")));
        }
    }
}
