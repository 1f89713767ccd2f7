package jnvdocker.host;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads the small text files in which a kernel module shows its facts. */
final class KernelText {
    private static final int LIMIT = 1 << 16;

    private KernelText() {}

    /**
     * Returns the text of a file under proc or sys.
     *
     * @throws IOException when it cannot be read, or is too long for such a file
     */
    static String read(Path file) throws IOException {
        byte[] bytes;
        try (var in = Files.newInputStream(file)) {
            bytes = in.readNBytes(LIMIT + 1);
        } catch (FileSystemException e) {
            throw e;
        } catch (IOException e) {
            // A failure after the opening does not name the file.
            throw new FileSystemException(file.toString(), null, e.getMessage());
        }
        if (bytes.length > LIMIT) {
            throw new IOException(file + " is longer than " + LIMIT + " bytes");
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
