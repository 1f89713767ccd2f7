package jnvdocker.host;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads the small text files in which a kernel module shows its facts. */
final class KernelText {
    private static final int LIMIT = 1 << 16;

    private KernelText() {}

    /**
     * The text of a file under proc or sys.
     *
     * @throws IOException when it can't be read, or is longer than such files are
     */
    static String read(Path file) throws IOException {
        try (var in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(LIMIT + 1);
            if (bytes.length > LIMIT) {
                throw new IOException(file + " is longer than " + LIMIT + " bytes");
            }
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }
}
