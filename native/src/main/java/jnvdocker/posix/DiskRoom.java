package jnvdocker.posix;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;

import java.nio.file.Path;

/**
 * What can still be written to a file system, as statvfs(3) tells.
 *
 * @param bytes that any user may still write
 * @param forFiles whether it has room for the name of one more file, too
 */
public record DiskRoom(boolean readOnly, long bytes, boolean forFiles) {
    // struct statvfs, the same on x86-64 and aarch64: longs, and a few ints that are spare.
    private static final int SIZE = 112;
    private static final int F_FRSIZE = 8;
    private static final int F_BAVAIL = 32;
    private static final int F_FILES = 40;
    private static final int F_FAVAIL = 56;
    private static final int F_FLAG = 72;

    private static final long ST_RDONLY = 1;

    /** That of the file system which a file or folder is on. */
    public static DiskRoom of(Path there) throws PosixException {
        try (Memory room = new Memory(SIZE)) {
            LibC.INSTANCE.statvfs(there.toString(), room);
            // Where files are not counted there are none, and none are missing.
            boolean counted = room.getLong(F_FILES) != 0;
            return new DiskRoom(
                    (room.getLong(F_FLAG) & ST_RDONLY) != 0,
                    room.getLong(F_FRSIZE) * room.getLong(F_BAVAIL),
                    !counted || room.getLong(F_FAVAIL) != 0);
        } catch (LastErrorException e) {
            throw Posix.failure("statvfs " + there, e.getErrorCode());
        }
    }
}
