package jnvdocker.oci.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/** Whether a runtime of ours works, by its program, its link, and its engine's configuration. */
class RuntimeHealthTest {
    private static final Path SOCKET = Path.of("/run/jnvdocker/jnvdocker.sock");
    private static final int ROOM = 32 + 2 * 4096 + 2 * 108;

    @TempDir Path directory;
    private Registration registration;

    @BeforeEach
    void install() throws Exception {
        Path config = directory.resolve("daemon.json");
        Path hook = directory.resolve("bin/nvidia-container-runtime-hook");
        registration =
                new Registration(
                        EngineKind.DOCKER,
                        config,
                        "nvidia",
                        directory.resolve("runtime"),
                        Optional.of(hook));
        Files.createDirectories(registration.directory());
        settle(SOCKET);
        Files.writeString(
                config,
                "{\"runtimes\":{\"nvidia\":{\"path\":\"" + registration.program() + "\"}}}");
        Files.createDirectories(hook.getParent());
        Files.createSymbolicLink(hook, registration.program());
    }

    private void settle(Path socket) throws Exception {
        byte[] mark = "jnvdocker-runtime-settings-1".getBytes(StandardCharsets.US_ASCII);
        RuntimeProgram.Settings settings =
                new RuntimeProgram.Settings(
                        Path.of("/bin/sh"),
                        directory.resolve("markers"),
                        socket,
                        directory.resolve("w"));
        Files.write(
                registration.program(), RuntimeProgram.settle(Arrays.copyOf(mark, ROOM), settings));
    }

    private String wrong(Optional<EngineRuntimes> engine) {
        return wrong(engine, Optional.empty());
    }

    private String wrong(Optional<EngineRuntimes> engine, Optional<Instant> since) {
        return RuntimeHealth.of(registration, SOCKET, engine, since)
                .wrong()
                .map(Refusal::message)
                .orElse("");
    }

    private String wrong() {
        return wrong(Optional.empty());
    }

    private void assertWrong(String part) {
        assertTrue(wrong().contains(part), wrong());
        assertTrue(
                wrong().endsWith(
                                "run 'jnvdocker runtime install --engine docker' again, as"
                                        + " before"),
                wrong());
    }

    @Test
    void linkForGpusIsThereAndOurs() throws IOException {
        assertEquals("", wrong());
        Path hook = registration.hook().orElseThrow();
        Files.delete(hook);
        assertWrong(hook + " is no link to " + registration.program());
        Files.createSymbolicLink(hook, Path.of("/bin/sh"));
        assertWrong(hook + " is no link to ");
        Files.delete(hook);
        Files.copy(registration.program(), hook);
        assertWrong(hook + " is no link to ");
        Files.delete(hook);
        Files.createSymbolicLink(hook, registration.program());
        assertEquals("", wrong());
    }

    @Test
    void dockerSearchesForTheLinkWhenItStarts() throws IOException {
        Instant made =
                Files.getLastModifiedTime(
                                registration.hook().orElseThrow(), LinkOption.NOFOLLOW_LINKS)
                        .toInstant();
        String due = wrong(Optional.empty(), Optional.of(made.minusSeconds(2)));
        assertTrue(due.startsWith("docker takes no --gpus until it is restarted: "), due);
        assertTrue(due.endsWith("; systemctl restart docker, when convenient"), due);
        // The time of a start is a second's.
        assertEquals("", wrong(Optional.empty(), Optional.of(made.minusMillis(900))));
        assertEquals("", wrong(Optional.empty(), Optional.of(made.plusSeconds(1))));
    }

    @Test
    void programIsThereAndAsksThisDaemon() throws Exception {
        settle(Path.of("/run/other.sock"));
        assertWrong("connects to another daemon, at /run/other.sock");
        Files.writeString(registration.program(), "another's");
        assertWrong("is missing or was changed");
    }

    @Test
    void engineKnowsItByWhatItHasRead() throws IOException {
        String program = registration.program().toString();
        assertEquals("", wrong(Optional.of(new EngineRuntimes("runc", Map.of("nvidia", program)))));
        Optional<EngineRuntimes> before = Optional.of(new EngineRuntimes("runc", Map.of()));
        assertTrue(wrong(before).contains("has not reloaded"), wrong(before));
        Files.writeString(registration.config(), "{}");
        assertTrue(wrong().contains("has no runtime 'nvidia' of jnvdocker's"), wrong());
    }
}
