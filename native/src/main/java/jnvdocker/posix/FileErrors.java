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

/** Puts a failed file operation into words. Java's own messages are often the file's name alone. */
public final class FileErrors {
    private FileErrors() {}

    /** The file, if one is known, and the reason: {@code /x/y: Permission denied}. */
    public static String describe(IOException e) {
        String file = e instanceof FileSystemException failed ? failed.getFile() : null;
        return file == null ? reason(e) : file + ": " + reason(e);
    }

    /** The same as a value, with what to do where one of ours says that. */
    public static Refusal refusal(IOException e) {
        return e instanceof Refused ours ? ours.refusal() : Refusal.of(describe(e));
    }

    /** The reason in the kernel's words, as far as it is one of the kernel's. */
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
