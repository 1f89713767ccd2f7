package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A state directory in which the registry is older than the running containers, because a copy was
 * put back or a byte of its log is wrong. A GPU has one holder all the same.
 */
class RolledBackStateTest extends OneEngineTest {

    @Test
    void aCopyThatIsPutBackGivesNoGpuTwice() throws Exception {
        lab.create("older", 0);
        lab.run("stays", 1);
        Path copy = copy();
        lab.run("train", 0);
        Set<String> directories = lab.directories();
        putBack(copy);
        // Immediately, before the engine has reported anything.
        assertHeld(lab.docker("start", "older"));
        lab.awaitHolders(Map.of(0, "train", 1, "stays"));
        assertEquals(directories, lab.directories());
        assertTrue(lab.log().contains("was replaced or lost a part"), lab.log());
        assertAgeIsOfContainer("train");
        lab.docker("kill", "train").ok();
        lab.docker("start", "older").ok();
        lab.awaitHolders(Map.of(0, "older", 1, "stays"));
    }

    @Test
    void aLogWithAWrongByteGivesNoGpuTwice() throws Exception {
        lab.create("older", 0);
        lab.awaitHolders(Map.of());
        Path log = lab.daemon().state().resolve("registry.db-wal");
        long before = Files.size(log);
        lab.run("train", 0);
        lab.daemon().kill();
        byte[] bytes = Files.readAllBytes(log);
        assertTrue(bytes.length > before, "SQLite has begun a new log; make it longer");
        bytes[(int) before + 100] ^= 1;
        Files.write(log, bytes);
        lab.startDaemon();
        assertHeld(lab.docker("start", "older"));
        lab.awaitHolders(Map.of(0, "train"));
    }

    /**
     * Neither the registry nor a file mentions the claim, and the engine does not answer. What its
     * cgroup allows says nothing: that may be about to change.
     */
    @Test
    void aClaimOfWhichNothingTellsKeepsEveryGpu() throws Exception {
        lab.create("older", 0);
        lab.create("other", 1);
        Path copy = copy();
        lab.run("train", 0);
        String claim = lab.registry().liveOf("train").orElseThrow().claim();
        lab.daemon().kill();
        Directories.remove(lab.daemon().state().resolve("claims/" + claim));
        lab.engine().kill();
        try {
            putBack(copy);
            JsonNode gpus = gpus();
            assertEquals("unmanaged", gpus.path(0).path("state").asText());
            assertEquals("unmanaged", gpus.path(1).path("state").asText());
        } finally {
            lab.engine().start();
        }
        lab.awaitTruth();
    }

    /** Its lease is younger: the daemon has made it from what runs. */
    private static void assertAgeIsOfContainer(String name) {
        JsonNode lease =
                lab.jnvdocker("gpu", "leases", "--json")
                        .json()
                        .valueStream()
                        .filter(it -> it.path("container_name").asText().equals(name))
                        .findFirst()
                        .orElseThrow();
        Instant since = Instant.parse(lease.path("container_since").asText());
        Instant started = Instant.parse(lab.inspect(name, "{{.State.StartedAt}}"));
        assertTrue(since.isBefore(Instant.parse(lease.path("since").asText())), lease::toString);
        assertTrue(Duration.between(since, started).abs().toMillis() < 1000, lease::toString);
    }

    private static void assertHeld(Command.Result start) {
        assertNotEquals(0, start.exitCode(), start::toString);
        assertTrue(start.err().contains("GPU 0 (GPU-5c1a0000) is held by"), start::toString);
    }

    private static JsonNode gpus() {
        return lab.jnvdocker("gpu", "ls", "--json").json();
    }

    private static String state(int gpu) {
        return gpus().path(gpu).path("state").asText();
    }

    /** Copies the registry as {@code cp} does while the daemon runs, with its log. */
    private static Path copy() throws IOException {
        lab.awaitTruth();
        Path copy = Directories.make("copy");
        for (Path part : parts()) {
            Files.copy(part, copy.resolve(part.getFileName()));
        }
        return copy;
    }

    private static void putBack(Path copy) throws IOException {
        lab.daemon().kill();
        for (Path part : parts()) {
            Files.delete(part);
        }
        try (Stream<Path> files = Files.list(copy)) {
            for (Path part : files.toList()) {
                Files.copy(part, lab.daemon().state().resolve(part.getFileName()));
            }
        }
        Directories.remove(copy);
        lab.startDaemon();
    }

    private static Set<Path> parts() throws IOException {
        try (Stream<Path> files = Files.list(lab.daemon().state())) {
            Set<Path> parts = new HashSet<>(files.toList());
            parts.removeIf(file -> !file.getFileName().toString().startsWith("registry.db"));
            return parts;
        }
    }
}
