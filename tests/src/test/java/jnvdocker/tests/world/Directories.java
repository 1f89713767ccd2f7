package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** Temporary directories with short paths, since a Unix socket's path is limited to 104 bytes. */
public final class Directories {
    private Directories() {}

    public static Path make(String name) {
        try {
            return Files.createTempDirectory(
                    Path.of(System.getenv().getOrDefault("TMPDIR", "/tmp")), "jnv-" + name + "-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Removes a directory by rm, which handles device nodes and links, after unmounting everything
     * below it.
     */
    public static void remove(Path directory) {
        for (String point : mountedBelow(directory)) {
            Command.of("umount", "-l", point).run().ok();
        }
        Command.of("rm", "-rf", "--one-file-system", directory).run().ok();
    }

    /** Writes a file until its disk is full. */
    public static Path fill(Path directory) throws IOException {
        Path filler = directory.resolve("filler");
        byte[] block = new byte[4096];
        try (var out = Files.newOutputStream(filler, StandardOpenOption.CREATE_NEW)) {
            while (true) {
                out.write(block);
            }
        } catch (IOException e) {
            return filler;
        }
    }

    /** The mount points below a directory; the last one covers the others. */
    public static List<String> mountedBelow(Path directory) {
        try {
            return Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
                    .map(line -> line.split(" ")[4])
                    .filter(point -> point.startsWith(directory + "/"))
                    .toList()
                    .reversed();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
