package jnvdocker.volume;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;

/** Directories with all that is in them. */
public final class DirectoryTree {
    private static final Logger log = LoggerFactory.getLogger(DirectoryTree.class);

    private DirectoryTree() {}

    /** The names in a directory, sorted; none when it does not exist. */
    public static List<String> names(Path directory) throws IOException {
        SortedSet<String> names = new TreeSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            files.forEach(file -> names.add(file.getFileName().toString()));
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return List.copyOf(names);
    }

    /**
     * Deletes a directory; links in it are deleted, not followed. Others may do the same meanwhile:
     * what is gone is no failure.
     */
    public static void delete(Path directory) throws IOException {
        Files.walkFileTree(
                directory,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                            throws IOException {
                        Files.deleteIfExists(file);
                        return FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFileFailed(Path file, IOException failure)
                            throws IOException {
                        return afterwards(failure);
                    }

                    @Override
                    public FileVisitResult postVisitDirectory(Path visited, IOException failure)
                            throws IOException {
                        afterwards(failure);
                        Files.deleteIfExists(visited);
                        return FileVisitResult.CONTINUE;
                    }

                    private static FileVisitResult afterwards(IOException failure)
                            throws IOException {
                        if (failure == null || failure instanceof NoSuchFileException) {
                            return FileVisitResult.CONTINUE;
                        }
                        throw failure;
                    }
                });
    }

    /** Deletes what a failure leaves. That failure matters more than one here. */
    static void deleteQuietly(Path directory) {
        try {
            delete(directory);
        } catch (IOException e) {
            log.warn("{} is left over: {}", directory, e.toString());
        }
    }
}
