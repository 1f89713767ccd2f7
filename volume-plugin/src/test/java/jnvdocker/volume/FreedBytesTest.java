package jnvdocker.volume;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

class FreedBytesTest {
    @TempDir Path host;
    private Path directory;

    @BeforeEach
    void makeDirectory() throws IOException {
        directory = Files.createDirectories(host.resolve("volume/lib64")).getParent();
    }

    @Test
    void aFileThatIsNowhereElseIsFreed() throws IOException {
        Files.writeString(directory.resolve("a"), "12345");
        Files.writeString(directory.resolve("lib64/b"), "123");
        assertEquals(8, FreedBytes.of(directory));
    }

    @Test
    void aHardLinkFreesNothingAsLongAsTheHostHasTheFile() throws IOException {
        Path library = Files.writeString(host.resolve("libcuda.so"), "12345");
        Files.createLink(directory.resolve("lib64/libcuda.so"), library);
        assertEquals(0, FreedBytes.of(directory));
        Files.delete(library);
        assertEquals(5, FreedBytes.of(directory));
    }

    @Test
    void aFileOfTwoNamesInTheDirectoryIsFreedOnce() throws IOException {
        Path file = Files.writeString(directory.resolve("a"), "12345");
        Files.createLink(directory.resolve("lib64/a"), file);
        assertEquals(5, FreedBytes.of(directory));
    }

    @Test
    void linksAreNotFollowed() throws IOException {
        Path outside = Files.writeString(host.resolve("large"), "12345");
        Files.createSymbolicLink(directory.resolve("file"), outside);
        Files.createSymbolicLink(directory.resolve("directory"), host);
        assertEquals(0, FreedBytes.of(directory));
    }

    @Test
    void missingFileFreesNothing() throws IOException {
        assertEquals(0, FreedBytes.of(host.resolve("none")));
    }
}
