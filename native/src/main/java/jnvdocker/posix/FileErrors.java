package jnvdocker.posix;

import jnvdocker.words.Refusal;
import jnvdocker.words.Refused;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.Set;

/**
 * Describes a failed file operation in words. Java's own messages are often just the file's name.
 */
public final class FileErrors {
    private static final Set<String> FULL =
            Set.of("No space left on device", "Disk quota exceeded");

    private FileErrors() {}

    /** Returns the file, if known, and the reason: {@code /x/y: Permission denied}. */
    public static String describe(IOException e) {
        String file = e instanceof FileSystemException failed ? failed.getFile() : null;
        return file == null ? reason(e) : file + ": " + reason(e);
    }

    /** Names the file of an error that does not: a write to an open file names none. */
    public static IOException of(Path file, IOException e) {
        if (e instanceof FileSystemException || e instanceof Refused) {
            return e;
        }
        FileSystemException named = new FileSystemException(file.toString(), null, reason(e));
        named.initCause(e);
        return named;
    }

    /** Returns the same as a value, with the remedy if it is known. */
    public static Refusal refusal(IOException e) {
        if (e instanceof Refused ours) {
            return ours.refusal();
        }
        return FULL.contains(reason(e))
                ? new Refusal(describe(e), "free some space there")
                : Refusal.of(describe(e));
    }

    /** Returns the reason in the kernel's words, if it comes from the kernel. */
    public static String reason(IOException e) {
        return switch (e) {
            case AccessDeniedException _ -> "Permission denied";
            case NoSuchFileException _ -> "No such file or directory";
            case NotDirectoryException _ -> "Not a directory";
            case FileSystemLoopException _ -> "Too many levels of symbolic links";
            case FileAlreadyExistsException _ -> "File exists";
            case DirectoryNotEmptyException _ -> "Directory not empty";
            case FileSystemException failed when failed.getReason() != null -> failed.getReason();
            case IOException failed when hasMessage(failed) -> failed.getMessage();
            default -> "interrupted";
        };
    }

    private static boolean hasMessage(IOException e) {
        return e.getMessage() != null && !e.getMessage().isBlank();
    }
}
