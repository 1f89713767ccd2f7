package jnvdocker.volume.files;

import jnvdocker.posix.FileErrors;
import jnvdocker.words.FailedException;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;

/** A driver volume cannot be made, read or removed. */
public final class DriverVolumeException extends FailedException {
    private static final long serialVersionUID = 1L;

    public DriverVolumeException(String what, String remedy) {
        super(what, remedy);
    }

    private DriverVolumeException(String what, String remedy, IOException cause) {
        super(what, remedy, cause);
    }

    /**
     * @param what the attempt, such as {@code cannot write}
     * @param file the file of the attempt, where the cause does not name one itself
     */
    public static DriverVolumeException of(String what, Path file, IOException cause) {
        if (cause instanceof DriverVolumeException known) {
            return known;
        }
        String named = cause instanceof FileSystemException e ? e.getFile() : null;
        return new DriverVolumeException(
                what + " " + (named == null ? file : named) + ": " + FileErrors.reason(cause),
                StateDirectoryRemedy.of(file, cause),
                cause);
    }
}
