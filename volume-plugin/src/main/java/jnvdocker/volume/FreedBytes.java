package jnvdocker.volume;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;

/** The space that a disk gets back when a directory is deleted. */
public final class FreedBytes {
    private FreedBytes() {}

    /** A file and how many of its names are in the directory. */
    private record Found(long size, int links, int here) {
        Found again() {
            return new Found(size, links, here + 1);
        }

        boolean goes() {
            return here >= links;
        }
    }

    /**
     * The sizes of the files that have no name outside the directory: a hard link frees nothing
     * while the host has the file as well, and all of it once the host has not any more. Blocks
     * that a file shares with others by reflink are counted, since sharing cannot be determined. A
     * directory that is not there frees nothing.
     */
    public static long of(Path directory) throws IOException {
        Map<Object, Found> files = new HashMap<>();
        try {
            Files.walkFileTree(
                    directory,
                    new SimpleFileVisitor<>() {
                        @Override
                        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                                throws IOException {
                            if (attributes.isRegularFile()) {
                                int links = links(file);
                                files.compute(
                                        attributes.fileKey(),
                                        (_, known) ->
                                                known == null
                                                        ? new Found(attributes.size(), links, 1)
                                                        : known.again());
                            }
                            return FileVisitResult.CONTINUE;
                        }
                    });
        } catch (NoSuchFileException e) {
            // Another process is deleting it.
            return 0;
        }
        return files.values().stream().filter(Found::goes).mapToLong(Found::size).sum();
    }

    private static int links(Path file) throws IOException {
        return (int) Files.getAttribute(file, "unix:nlink", LinkOption.NOFOLLOW_LINKS);
    }
}
