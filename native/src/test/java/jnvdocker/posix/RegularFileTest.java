package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.FailedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

class RegularFileTest {
    private static final int LIMIT = 10;

    @TempDir Path directory;

    /** One of the three ways to read. */
    private interface Way {
        Optional<byte[]> read(Path file, int limit) throws IOException;
    }

    private void run(String command) throws Exception {
        var made = new ProcessBuilder("sh", "-c", command).directory(directory.toFile()).start();
        assertEquals(0, made.waitFor(), command);
    }

    private void assertRefused(String what, Way way) {
        Path file = directory.resolve("f");
        assertTimeoutPreemptively(
                Duration.ofSeconds(20),
                () -> {
                    var why = assertThrows(FailedException.class, () -> way.read(file, LIMIT));
                    String text = why.refusal().message();
                    assertTrue(text.startsWith(file + " " + what), text);
                    assertEquals(1, text.lines().count());
                });
    }

    @Test
    void aRegularFileIsReadWhole() throws Exception {
        Path file = directory.resolve("f");
        assertEquals(Optional.empty(), RegularFile.readOwn(file, LIMIT));
        Files.writeString(file, "0123456789");
        Files.setPosixFilePermissions(
                file, java.nio.file.attribute.PosixFilePermissions.fromString("rw-r--r--"));
        assertEquals("0123456789", new String(RegularFile.readOwn(file, LIMIT).get()));
    }

    @ParameterizedTest
    @CsvSource({
        "mkfifo f, is a named pipe",
        "mkdir f, is a directory",
        "ln -s /nowhere f, is a link",
        "truncate -s 1G f; chmod 644 f, is longer than 10 bytes"
    })
    void nothingElseIsReadByAnyWay(String command, String what) throws Exception {
        run(command);
        assertRefused(what, RegularFile::readOwn);
        assertRefused(what, RegularFile::readConfiguration);
        assertRefused(what, RegularFile::read);
    }

    /** The configuration may be elsewhere; the daemon's own files are where it has put them. */
    @Test
    void aLinkIsFollowedForTheConfigurationAlone() throws Exception {
        run("echo x > there; chmod 644 there; ln -s there f");
        assertEquals(
                "x\n",
                new String(RegularFile.readConfiguration(directory.resolve("f"), LIMIT).get()));
        assertRefused("is a link", RegularFile::readOwn);
        run("ln -sfn /dev/zero f");
        assertRefused("is not a regular file", RegularFile::readConfiguration);
        assertRefused("is not a regular file", RegularFile::read);
    }

    @Test
    void whatOthersMayWriteIsNotBelieved() throws Exception {
        run("echo x > f; chmod 666 f");
        assertRefused("may be written by users other than root", RegularFile::readOwn);
        assertRefused("may be written by users other than root", RegularFile::readConfiguration);
        assertTrue(RegularFile.read(directory.resolve("f"), LIMIT).isPresent());
    }
}
