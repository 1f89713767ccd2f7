package jnvdocker.posix;

import jnvdocker.words.FailedException;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.Set;

/**
 * Files that only their owner may open: a user who can read a file can also lock it, and so block
 * all processes that need a lock of their own.
 */
public final class PrivateFile {
    private static final Set<PosixFilePermission> MODE =
            PosixFilePermissions.fromString("rw-------");
    private static final FileAttribute<?> NEW = PosixFilePermissions.asFileAttribute(MODE);
    private static final Set<OpenOption> OPTIONS =
            Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);

    private PrivateFile() {}

    /** Opens a file for reading and writing. A missing file is made, and is private. */
    public static FileChannel open(Path path) throws IOException {
        FileChannel file = open(path, StandardOpenOption.CREATE);
        try {
            close(path);
            return file;
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    /** Makes a file private if it exists. Processes that have it open already keep it open. */
    public static void close(Path path) throws IOException {
        if (isOpenToOthers(path)) {
            Files.setPosixFilePermissions(path, MODE);
        }
    }

    /** Whether users other than its owner may open a file; false as well if there is none. */
    public static boolean isOpenToOthers(Path path) throws IOException {
        try {
            return !MODE.containsAll(
                    Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS));
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /**
     * Whether the holders of a file's lock can read it but not write it, as another daemon could:
     * the file was once open to others, and one of them has it locked.
     *
     * @param file that cannot be locked
     */
    public static boolean isLockedByReaders(FileChannel file) throws IOException {
        var shared = file.tryLock(0, Long.MAX_VALUE, true);
        if (shared == null) {
            return false;
        }
        shared.release();
        return true;
    }

    /**
     * Replaces a file by a new one that is locked before it appears. No other process may do the
     * same meanwhile.
     */
    public static FileChannel replace(Path path) throws IOException {
        Path fresh = path.resolveSibling(path.getFileName() + ".new");
        Files.deleteIfExists(fresh);
        FileChannel file = open(fresh, StandardOpenOption.CREATE_NEW);
        try {
            if (file.tryLock() == null) {
                throw new FailedException(fresh + " was locked by another program", "try again");
            }
            Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE);
            return file;
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    private static FileChannel open(Path path, OpenOption how) throws IOException {
        Set<OpenOption> options = new HashSet<>(OPTIONS);
        options.add(how);
        return FileChannel.open(path, options, NEW);
    }
}
