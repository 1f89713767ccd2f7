package jnvdocker.volume.files;

import jnvdocker.posix.FileErrors;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;

/**
 * A driver volume can't be made, read or removed. The message is for people and says what to do.
 */
public final class DriverVolumeException extends IOException {
    private static final long serialVersionUID = 1L;

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
        return new DriverVolumeException(message + remedy(reason), cause);
    }

    private static String remedy(String reason) {
        return switch (reason) {
            case "No space left on device", "Disk quota exceeded" ->
                    "; free some space there, or choose another state folder"
                            + " (JNVDOCKER_STATE_DIR)";
            case "Read-only file system" ->
                    "; mount it writable, or choose another state folder (JNVDOCKER_STATE_DIR)";
            case "Permission denied", "Operation not permitted" ->
                    "; run the daemon as root, or choose a state folder that this user may write"
                            + " (JNVDOCKER_STATE_DIR)";
            case "Not a directory", "File exists" ->
                    "; move the file that is in the way, or choose another state folder"
                            + " (JNVDOCKER_STATE_DIR)";
            default -> "; check that folder and the kernel's log";
        };
    }
}
