package jnvdocker.host;

import jnvdocker.posix.FileStatus;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;

/**
 * Searches directories for nodes of GPUs, recognized by number and not by name. It goes level by
 * level, so that many files far below do not keep it from those on top. Unreadable entries are
 * skipped, as docker does.
 */
final class NodeSearch {
    /** Some fifty times the number of files in the /dev of a large host. */
    static final int MOST_FILES = 20_000;

    private final int major;
    private final int levels;
    private final Set<Integer> minors = new TreeSet<>();
    private int files;

    private record Level(Path directory, int depth) {}

    /**
     * @param levels how deep to search: 1 for the directory itself
     */
    NodeSearch(int major, int levels) {
        this.major = major;
        this.levels = levels;
    }

    void search(Path top) {
        Queue<Level> directories = new ArrayDeque<>();
        directories.add(new Level(top, 1));
        while (!directories.isEmpty() && files <= MOST_FILES) {
            Level level = directories.remove();
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(level.directory())) {
                for (Path entry : entries) {
                    if (++files > MOST_FILES) {
                        return;
                    }
                    search(entry, level.depth(), directories);
                }
            } catch (IOException | DirectoryIteratorException e) {
                // Missing, gone, or not readable for us.
            }
        }
    }

    private void search(Path entry, int depth, Queue<Level> directories) {
        try {
            FileStatus status = FileStatus.of(entry, LinkOption.NOFOLLOW_LINKS);
            if (status.isDirectory() && depth < levels) {
                directories.add(new Level(entry, depth + 1));
            }
            DeviceNodes.minor(status.characterDevice(), major).ifPresent(minors::add);
        } catch (IOException e) {
            // It has gone.
        }
    }

    DeviceNodes.Reached found() {
        return new DeviceNodes.Reached(minors, true, files <= MOST_FILES);
    }
}
