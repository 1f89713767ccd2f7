package jnvdocker.oci.install;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Which programs of an engine's runtimes are ours, and query this daemon: it decides on every GPU
 * of their containers.
 */
public final class GuardedRuntimes implements Predicate<String> {
    private static final int REMEMBERED = 64;

    private final Path socket;
    private final Map<String, Known> known = new HashMap<>();

    /** A program, as long as it stays as it is. */
    private record Known(Object key, FileTime changed, long size, boolean ours) {}

    /**
     * @param socket of this daemon
     */
    public GuardedRuntimes(Path socket) {
        this.socket = socket;
    }

    /**
     * @param program its absolute path; for a name alone this cannot be determined, and counts as
     *     false
     */
    @Override
    public boolean test(String program) {
        if (!program.startsWith("/")) {
            return false;
        }
        try {
            Path path = Path.of(program);
            BasicFileAttributes now = Files.readAttributes(path, BasicFileAttributes.class);
            return isOurs(program, path, now);
        } catch (IOException | InvalidPathException e) {
            return false;
        }
    }

    private synchronized boolean isOurs(String program, Path path, BasicFileAttributes now) {
        Known before = known.get(program);
        if (before != null
                && before.changed().equals(now.lastModifiedTime())
                && before.size() == now.size()
                && before.key().equals(now.fileKey())) {
            return before.ours();
        }
        boolean ours =
                RuntimeProgram.read(path)
                        .filter(settings -> settings.socket().equals(socket))
                        .isPresent();
        if (known.size() >= REMEMBERED) {
            known.clear();
        }
        known.put(program, new Known(now.fileKey(), now.lastModifiedTime(), now.size(), ours));
        return ours;
    }
}
