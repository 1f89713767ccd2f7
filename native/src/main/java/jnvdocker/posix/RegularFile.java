package jnvdocker.posix;

import jnvdocker.words.FailedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The one reader of files that should be small and regular: our own, the configuration, and other
 * programs'. Whatever else has the name, such as a pipe without a writer, a device without an end
 * or a file of a gigabyte, is refused at once, by one line that names the file, and blocks nobody.
 */
public final class RegularFile {
    private static final int TYPE = 0170000;
    private static final int REGULAR = 0100000;
    private static final int DIRECTORY = 0040000;
    private static final int PIPE = 0010000;
    private static final int OTHERS_WRITE = 0022;

    private RegularFile() {}

    /** Whose file it is. */
    private enum Kind {
        /** Any program's. */
        FOREIGN,
        /** What root has written, and may have a link to: the daemon does as it says. */
        CONFIGURATION,
        /** What the daemon has written; it never writes a link. */
        OWN
    }

    /**
     * Returns the content of any program's file.
     *
     * @param limit the most bytes that it may have
     * @return empty when there is no such file
     * @throws FailedException naming the file, when it is not a regular one, or is longer
     */
    public static Optional<byte[]> read(Path file, int limit) throws IOException {
        return read(file, limit, Kind.FOREIGN);
    }

    /**
     * Returns the content of a file that only root may write: the daemon does as it says.
     *
     * @throws FailedException also when it belongs to another user, or others may write it
     */
    public static Optional<byte[]> readConfiguration(Path file, int limit) throws IOException {
        return read(file, limit, Kind.CONFIGURATION);
    }

    /**
     * Returns the content of a file that the daemon, or one before it, has written.
     *
     * @throws FailedException likewise, and also when it is a link
     */
    public static Optional<byte[]> readOwn(Path file, int limit) throws IOException {
        return read(file, limit, Kind.OWN);
    }

    private static Optional<byte[]> read(Path file, int limit, Kind kind) throws IOException {
        int descriptor;
        try {
            descriptor = kind == Kind.OWN ? Posix.openToReadNoLink(file) : Posix.openToRead(file);
        } catch (PosixException e) {
            return switch (e.errno()) {
                case Errno.ENOENT -> {
                    refuseDanglingLink(file);
                    yield Optional.empty();
                }
                case Errno.ELOOP -> throw notRegular(file, "a link");
                // A socket cannot be opened at all, and a device may have no driver.
                case Errno.ENXIO, Errno.ENODEV -> throw notRegular(file, "not a regular file");
                default -> throw e;
            };
        }
        try {
            // What was opened, whatever has its name by now.
            Path opened = Path.of("/proc/self/fd/" + descriptor);
            Map<String, Object> status = Files.readAttributes(opened, "unix:mode,uid,size");
            int mode = (int) status.get("mode");
            refuseUnlessRegular(file, mode & TYPE);
            if (kind != Kind.FOREIGN) {
                refuseForeign(file, mode, (int) status.get("uid"));
            }
            if ((long) status.get("size") > limit) {
                throw tooLong(file, limit);
            }
            return Optional.of(bytes(opened, file, limit));
        } finally {
            Posix.close(descriptor);
        }
    }

    private static byte[] bytes(Path opened, Path file, int limit) throws IOException {
        try (var in = Files.newInputStream(opened)) {
            byte[] bytes = in.readNBytes(limit + 1);
            if (bytes.length > limit) {
                throw tooLong(file, limit);
            }
            return bytes;
        }
    }

    private static FailedException tooLong(Path file, int limit) {
        return new FailedException(
                file + " is longer than " + limit + " bytes", "shorten it, or remove it");
    }

    /**
     * Refuses a file that is opened by other means.
     *
     * @throws FailedException when it exists and is not a regular file, or is a link that leads
     *     nowhere
     */
    public static void check(Path file) throws IOException {
        if (Files.exists(file)) {
            refuseUnlessRegular(file, (int) Files.getAttribute(file, "unix:mode") & TYPE);
        } else {
            refuseDanglingLink(file);
        }
    }

    private static void refuseDanglingLink(Path file) throws IOException {
        if (Files.isSymbolicLink(file) && !Files.exists(file)) {
            throw new FailedException(
                    file + " is a link to " + Files.readSymbolicLink(file) + ", which is not there",
                    "restore that file, or remove the link");
        }
    }

    private static void refuseUnlessRegular(Path file, int type) throws FailedException {
        switch (type) {
            case REGULAR -> {}
            case DIRECTORY -> throw notRegular(file, "a directory");
            case PIPE -> throw notRegular(file, "a named pipe");
            default -> throw notRegular(file, "not a regular file");
        }
    }

    private static FailedException notRegular(Path file, String what) {
        return new FailedException(
                file + " is " + what + ", where a regular file should be", "move it away");
    }

    private static void refuseForeign(Path file, int mode, int uid) throws FailedException {
        boolean others = (mode & OTHERS_WRITE) != 0;
        if (others || !Posix.isRootOrSelf(uid)) {
            throw new FailedException(
                    file
                            + (others
                                    ? " may be written by users other than root"
                                    : " belongs to uid " + Integer.toUnsignedString(uid))
                            + ", who could make root run anything",
                    "check its content, then run: chown root: " + file + " && chmod go-w " + file);
        }
    }
}
