package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Temporary folders with short paths, since the path of a Unix socket ends at 104 bytes. */
public final class Folders {
    private Folders() {}

    public static Path make(String name) {
        try {
            return Files.createTempDirectory(
                    Path.of(System.getenv().getOrDefault("TMPDIR", "/tmp")), "jnv-" + name + "-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** By rm, which knows device nodes and links. */
    public static void remove(Path folder) {
        Command.of("rm", "-rf", "--one-file-system", folder).run().ok();
    }
}
