package jnvdocker.posix;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;

import java.nio.file.Path;

/**
 * The free space of a file system, as statvfs(3) reports it.
 *
 * @param bytes that any user may still write
 * @param forFiles whether there is room for the name of one more file
 */
public record DiskRoom(boolean readOnly, long bytes, boolean forFiles) {
    // struct statvfs, the same on x86-64 and aarch64: longs, and a few spare ints.
    private static final int SIZE = 112;
    private static final int F_FRSIZE = 8;
    private static final int F_BAVAIL = 32;
    private static final int F_FILES = 40;
    private static final int F_FAVAIL = 56;
    private static final int F_FLAG = 72;

    private static final long ST_RDONLY = 1;

    /** Returns the free space of the file system that a file or directory is on. */
    public static DiskRoom of(Path there) throws PosixException {
        try (Memory room = new Memory(SIZE)) {
            LibC.INSTANCE.statvfs(there.toString(), room);
            // File systems that do not count files report none, and cannot run out of them.
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
