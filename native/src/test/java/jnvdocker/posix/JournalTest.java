package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

class JournalTest {
    @TempDir private Path directory;

    @Test
    void valueWithLineEndsStaysOneField() throws IOException {
        Path path = directory.resolve("socket");
        try (WakeSocket socket = WakeSocket.bind(path, Duration.ofSeconds(5))) {
            Map<String, String> fields = new TreeMap<>();
            fields.put("MESSAGE", "one\nPRIORITY=0");
            fields.put("PRIORITY", "6");
            assertTrue(Journal.open(path).orElseThrow().send(fields));
            assertEquals(
                    Optional.of(
                            "MESSAGE\n\16\0\0\0\0\0\0\0one\nPRIORITY=0\n"
                                    + "PRIORITY\n\1\0\0\0\0\0\0\0006\n"),
                    socket.receive());
        }
    }

    @Test
    void journalThatIsAwayIsNoFailure() {
        Journal journal = Journal.open(directory.resolve("nothing")).orElseThrow();
        assertFalse(journal.send(Map.of("MESSAGE", "hello")));
    }

    @Test
    void onlyStandardErrorsOwnStreamCounts() throws IOException {
        Map<String, Object> error =
                Files.readAttributes(Path.of("/proc/self/fd/2"), "unix:dev,ino");
        assertTrue(Journal.of(error.get("dev") + ":" + error.get("ino")).isPresent());
        assertTrue(Journal.of("1:2").isEmpty());
        assertTrue(Journal.of("").isEmpty());
    }
}
