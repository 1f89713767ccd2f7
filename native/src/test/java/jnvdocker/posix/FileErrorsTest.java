package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

class FileErrorsTest {
    private static final Path FILE = Path.of("/x/y");

    private static String refusal(IOException e) {
        return FileErrors.refusal(FileErrors.of(FILE, e)).message();
    }

    @Test
    void fullDiskIsNamedWithItsRemedy() {
        assertEquals(
                "/x/y: No space left on device; free some space there",
                refusal(new IOException("No space left on device")));
        assertEquals(
                "/x/z: Disk quota exceeded; free some space there",
                refusal(new FileSystemException("/x/z", null, "Disk quota exceeded")));
        assertEquals("/x/y: Input/output error", refusal(new IOException("Input/output error")));
    }

    @Test
    void fileThatIsNamedStays() {
        IOException named = new NoSuchFileException("/x/z");
        assertSame(named, FileErrors.of(FILE, named));
    }
}
