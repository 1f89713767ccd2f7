package jnvdocker.posix;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Map;

/** Files that are never seen half written, even after a crash of the machine. */
public final class WholeFile {
    private static final int RIGHTS = 07777;

    private WholeFile() {}

    /**
     * The owner and permissions of a file.
     *
     * @param mode as chmod takes it
     */
    public record Access(int uid, int gid, int mode) {
        /** Owned by root, with a mode. */
        public static Access root(int mode) {
            return new Access(0, 0, mode);
        }

        /** Returns the access of an existing file. */
        public static Access of(Path file) throws IOException {
            Map<String, Object> has = Files.readAttributes(file, "unix:uid,gid,mode");
            return new Access(
                    (Integer) has.get("uid"),
                    (Integer) has.get("gid"),
                    (Integer) has.get("mode") & RIGHTS);
        }
    }

    /** Replaces whatever has the file's name; a link is itself replaced. */
    public static void write(Path file, byte[] content, Access access) throws IOException {
        Path fresh = fresh(file);
        Files.deleteIfExists(fresh);
        try (FileChannel channel =
                FileChannel.open(fresh, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)) {
            for (ByteBuffer rest = ByteBuffer.wrap(content); rest.hasRemaining(); ) {
                channel.write(rest);
            }
            Posix.chown(fresh, access.uid(), access.gid());
            Posix.chmod(fresh, access.mode());
            channel.force(true);
        } catch (IOException e) {
            Files.deleteIfExists(fresh);
            throw FileErrors.of(file, e);
        }
        rename(fresh, file);
    }

    /** Gives its name to a file that something else has written, once that is on disk. */
    public static void complete(Path fresh, Path file) throws IOException {
        sync(fresh);
        rename(fresh, file);
    }

    /** Replaces whatever has the link's name, unless that leads to the target already. */
    public static void link(Path link, Path target) throws IOException {
        if (Files.isSymbolicLink(link) && Files.readSymbolicLink(link).equals(target)) {
            return;
        }
        Path fresh = fresh(link);
        Files.deleteIfExists(fresh);
        Files.createSymbolicLink(fresh, target);
        rename(fresh, link);
    }

    public static void delete(Path file) throws IOException {
        Files.deleteIfExists(file);
        sync(file.getParent());
    }

    /**
     * Returns the name of the file until it is complete; a process that was killed may leave it
     * behind.
     */
    public static Path fresh(Path file) {
        return file.resolveSibling("." + file.getFileName() + ".new");
    }

    private static void rename(Path fresh, Path file) throws IOException {
        Files.move(
                fresh, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        sync(file.getParent());
    }

    /** Syncs a file or a directory. */
    private static void sync(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
