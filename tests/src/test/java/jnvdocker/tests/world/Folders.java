package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

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

    /** By rm, which knows device nodes and links. What is mounted below goes first. */
    public static void remove(Path folder) {
        for (String point : mountedBelow(folder)) {
            Command.of("umount", "-l", point).run().ok();
        }
        Command.of("rm", "-rf", "--one-file-system", folder).run().ok();
    }

    /** Writes a file until nothing more fits on its disk. */
    public static Path fill(Path folder) throws IOException {
        Path filler = folder.resolve("filler");
        byte[] block = new byte[4096];
        try (var out = Files.newOutputStream(filler, StandardOpenOption.CREATE_NEW)) {
            while (true) {
                out.write(block);
            }
        } catch (IOException e) {
            return filler;
        }
    }

    /** Where something is mounted below a folder; the last one covers the others. */
    public static List<String> mountedBelow(Path folder) {
        try {
            return Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
                    .map(line -> line.split(" ")[4])
                    .filter(point -> point.startsWith(folder + "/"))
                    .toList()
                    .reversed();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
