package jnvdocker.posix;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A root file system with an owner that is not trusted, such as a container's: any name in it may
 * be a link to anywhere, and may change at any moment. The kernel resolves every path beneath the
 * root (openat2 with {@code RESOLVE_IN_ROOT}), crosses no mount and follows no magic link; whatever
 * is done then is done on the descriptor.
 *
 * @see <a href="https://man7.org/linux/man-pages/man2/openat2.2.html">openat2(2)</a>
 */
public final class ForeignRoot implements AutoCloseable {
    private static final long OPENAT2 = 437;
    private static final int HOW_SIZE = 24;
    private static final long O_PATH = 0x200000;
    private static final long O_CLOEXEC = 0x80000;
    private static final long O_NEW = 0x1 | 0x40 | 0x80; // O_WRONLY | O_CREAT | O_EXCL

    /** The machine's: O_DIRECTORY is one of the few flags that differ between architectures. */
    private static final long O_DIRECTORY =
            System.getProperty("os.arch").equals("aarch64") ? 0x4000 : 0x10000;

    private static final long OWNERS = 0600;
    private static final long NO_MOUNT = 1;
    private static final long NO_MAGIC_LINK = 2;
    private static final long NO_LINK = 4;
    private static final long IN_ROOT = 0x10;

    private final int descriptor;

    private ForeignRoot(int descriptor) {
        this.descriptor = descriptor;
    }

    /**
     * @param root its directory; the path of it is trusted
     */
    public static ForeignRoot open(Path root) throws PosixException {
        int slash = Posix.openToRead(Path.of("/"));
        try {
            return new ForeignRoot(openBelow(slash, root.toString(), O_PATH | O_DIRECTORY, 0));
        } finally {
            Posix.close(slash);
        }
    }

    /** Whether it is the directory that we have as {@code /}. */
    public boolean isOurOwn() throws IOException {
        return Files.isSameFile(place(descriptor), Path.of("/"));
    }

    /** Whether a path leads to something, by whatever links within the root; nothing is opened. */
    public boolean has(String path) {
        try {
            Posix.close(openBelow(descriptor, path, O_PATH, IN_ROOT | NO_MAGIC_LINK));
            return true;
        } catch (PosixException e) {
            return false;
        }
    }

    /** Opens a directory by a path without any link or mount; empty if there is none. */
    public Optional<ForeignDirectory> directory(String path) throws PosixException {
        return directory(path, NO_LINK);
    }

    /** Opens a directory, to which links within the root may lead; empty if there is none. */
    public Optional<ForeignDirectory> linkedDirectory(String path) throws PosixException {
        return directory(path, 0);
    }

    private Optional<ForeignDirectory> directory(String path, long resolve) throws PosixException {
        try {
            return Optional.of(
                    new ForeignDirectory(
                            openBelow(
                                    descriptor,
                                    path,
                                    O_DIRECTORY,
                                    IN_ROOT | NO_MAGIC_LINK | NO_MOUNT | resolve)));
        } catch (PosixException e) {
            return switch (e.errno()) {
                case Errno.ENOENT, Errno.ENOTDIR, Errno.ELOOP, Errno.EXDEV -> Optional.empty();
                default -> throw e;
            };
        }
    }

    @Override
    public void close() {
        Posix.close(descriptor);
    }

    /** The path by which Java's own calls reach what a descriptor leads to. */
    static Path place(int descriptor) {
        return Path.of("/proc/self/fd/" + descriptor);
    }

    /** Opens an entry of a directory, which may be of any kind, without opening what it is. */
    static int find(int directory, String name) throws PosixException {
        return openBelow(directory, name, O_PATH, IN_ROOT | NO_MAGIC_LINK | NO_MOUNT | NO_LINK);
    }

    /** Makes a file in a directory, for writing; a name that is taken fails. */
    static int create(int directory, String name) throws PosixException {
        return openBelow(directory, name, O_NEW, IN_ROOT | NO_MAGIC_LINK | NO_MOUNT | NO_LINK);
    }

    private static int openBelow(int directory, String path, long flags, long resolve)
            throws PosixException {
        try (Memory how = new Memory(HOW_SIZE)) {
            how.setLong(0, flags | O_CLOEXEC);
            how.setLong(8, (flags & O_NEW) == O_NEW ? OWNERS : 0);
            how.setLong(16, resolve);
            return (int) LibC.INSTANCE.syscall(OPENAT2, directory, path, how, HOW_SIZE);
        } catch (LastErrorException e) {
            throw Posix.failure("openat2 " + path, e.getErrorCode());
        }
    }
}
