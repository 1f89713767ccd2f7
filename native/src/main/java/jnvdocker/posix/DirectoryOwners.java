package jnvdocker.posix;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** Finds the owners of directories that others have named; their file systems may never answer. */
public final class DirectoryOwners {
    private static final int THREADS = 4;

    /** Limits may depend on an owner: a change counts soon. */
    private static final Duration KNOWN = Duration.ofSeconds(5);

    private static final Duration PATIENCE = Duration.ofMillis(200);
    private static final DirectoryOwners OF_THIS_HOST = new DirectoryOwners();

    private final SlowQueries<String, Integer> questions =
            new SlowQueries<>(
                    "directory-owner", THREADS, DirectoryOwners::read, System::nanoTime, KNOWN);

    private DirectoryOwners() {}

    /** Returns those of this host; earlier answers are remembered for seconds. */
    public static DirectoryOwners ofThisHost() {
        return OF_THIS_HOST;
    }

    /** Returns the uid; empty for anything but a directory, or when there is no answer at once. */
    public Optional<Integer> of(String path) {
        if (!path.startsWith("/") || path.indexOf('\0') >= 0) {
            return Optional.empty();
        }
        try {
            return questions.query(path, PATIENCE);
        } catch (NoAnswerException e) {
            return Optional.empty();
        }
    }

    private static Optional<Integer> read(String path) {
        try {
            Path directory = Path.of(path);
            return Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
                    ? Optional.of((Integer) Files.getAttribute(directory, "unix:uid"))
                    : Optional.empty();
        } catch (IOException | InvalidPathException e) {
            return Optional.empty();
        }
    }
}
