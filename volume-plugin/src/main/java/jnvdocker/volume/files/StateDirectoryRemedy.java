package jnvdocker.volume.files;

import jnvdocker.posix.DiskRoom;
import jnvdocker.posix.PosixException;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;

/** Remedies for a state directory that a driver volume cannot be written to. */
final class StateDirectoryRemedy {
    private static final String STATE_DIRECTORY = " (JNVDOCKER_STATE_DIR)";

    private static final String IN_THE_WAY =
            "move the file that is in the way, or choose another state directory" + STATE_DIRECTORY;

    private static final String REMEDY = "check that directory, its quota and the kernel's log";

    /** A disk that was too full for a write has less room left than this. */
    private static final long FULL = 1 << 20;

    private StateDirectoryRemedy() {}

    /**
     * @param file that could not be written
     */
    static String of(Path file, IOException cause) {
        return switch (cause) {
            case AccessDeniedException _ ->
                    "run the daemon as root, or choose a state directory that this user may write"
                            + STATE_DIRECTORY;
            case NotDirectoryException _, FileAlreadyExistsException _ -> IN_THE_WAY;
            default -> of(file);
        };
    }

    /** By the facts, since Java describes a disk's error in words alone. */
    private static String of(Path file) {
        Path there = existing(file);
        if (!there.equals(file) && !Files.isDirectory(there)) {
            return IN_THE_WAY;
        }
        try {
            DiskRoom room = DiskRoom.of(there);
            if (room.readOnly()) {
                return "mount it writable, or choose another state directory" + STATE_DIRECTORY;
            }
            return room.bytes() < FULL || !room.forFiles()
                    ? "free some space there, or choose another state directory" + STATE_DIRECTORY
                    : REMEDY;
        } catch (PosixException e) {
            return REMEDY;
        }
    }

    private static Path existing(Path file) {
        Path path = file.toAbsolutePath();
        while (!Files.exists(path) && path.getParent() != null) {
            path = path.getParent();
        }
        return path;
    }
}
