package jnvdocker.volume.files;

import jnvdocker.posix.FileErrors;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;

/**
 * A driver volume can't be made, read or removed. The message is for people and says what to do.
 */
public final class DriverVolumeException extends IOException {
    private static final long serialVersionUID = 1L;
    private static final String STATE_FOLDER = " (JNVDOCKER_STATE_DIR)";

    private static final String IN_THE_WAY =
            "move the file that is in the way, or choose another state folder" + STATE_FOLDER;

    /** Who could not write what he wanted to has left less than this. */
    private static final long FULL = 1 << 20;

    public DriverVolumeException(String message) {
        super(message);
    }

    private DriverVolumeException(String message, IOException cause) {
        super(message, cause);
    }

    /**
     * @param what what was tried, such as {@code can't write}
     * @param file what it was tried on, where the cause does not name a file itself
     */
    public static DriverVolumeException of(String what, Path file, IOException cause) {
        if (cause instanceof DriverVolumeException told) {
            return told;
        }
        String named = cause instanceof FileSystemException e ? e.getFile() : null;
        String reason = FileErrors.reason(cause);
        String message = what + " " + (named == null ? file : named) + ": " + reason;
        return new DriverVolumeException(message + "; " + remedy(file, cause), cause);
    }

    private static String remedy(Path file, IOException cause) {
        return switch (cause) {
            case AccessDeniedException _ ->
                    "run the daemon as root, or choose a state folder that this user may write"
                            + STATE_FOLDER;
            case NotDirectoryException _, FileAlreadyExistsException _ -> IN_THE_WAY;
            default -> remedy(file);
        };
    }

    /** By what is so, since Java tells a disk's error in words alone. */
    private static String remedy(Path file) {
        Path there = existing(file);
        if (!there.equals(file) && !Files.isDirectory(there)) {
            return IN_THE_WAY;
        }
        try {
            FileStore store = Files.getFileStore(there);
            if (store.isReadOnly()) {
                return "mount it writable, or choose another state folder" + STATE_FOLDER;
            }
            if (store.getUsableSpace() < FULL || !hasRoomForAFile(there)) {
                return "free some space there, or choose another state folder" + STATE_FOLDER;
            }
        } catch (IOException e) {
            // It can't be told, then.
        }
        return "check that folder, its quota and the kernel's log";
    }

    /** A disk with room may have no more place for another file's name. */
    private static boolean hasRoomForAFile(Path there) {
        Path folder = Files.isDirectory(there) ? there : there.getParent();
        try {
            Files.delete(Files.createTempFile(folder, ".room", null));
            return true;
        } catch (IOException e) {
            return false;
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
