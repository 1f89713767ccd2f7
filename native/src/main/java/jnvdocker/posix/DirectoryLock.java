package jnvdocker.posix;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A lock of a directory itself: no file in it can be deleted to get around the lock. The kernel
 * releases it however the process ends. Any user who may list the directory can lock it, too.
 */
public final class DirectoryLock implements AutoCloseable {
    private static final Duration PAUSE = Duration.ofMillis(25);

    /** A line of {@code /proc/locks}: {@code 1: FLOCK ADVISORY WRITE 4711 fe:01:131 0 EOF}. */
    private static final Pattern LOCK =
            Pattern.compile("[0-9]+: FLOCK +ADVISORY +WRITE ([0-9]+) [0-9a-f:]+:([0-9]+) .*");

    private final int descriptor;

    private DirectoryLock(int descriptor) {
        this.descriptor = descriptor;
    }

    /**
     * @param patience how long to wait for a process that is ending
     * @return empty when another process has it locked
     */
    public static Optional<DirectoryLock> take(Path directory, Duration patience)
            throws IOException {
        int descriptor = Posix.openToRead(directory);
        try {
            long end = System.nanoTime() + patience.toNanos();
            while (!Posix.lock(descriptor)) {
                if (System.nanoTime() > end) {
                    Posix.close(descriptor);
                    return Optional.empty();
                }
                LockSupport.parkNanos(PAUSE.toNanos());
            }
            return Optional.of(new DirectoryLock(descriptor));
        } catch (PosixException e) {
            Posix.close(descriptor);
            throw e;
        }
    }

    /** Returns the process that has a directory locked, if it can be seen from here. */
    public static OptionalInt holder(Path directory) throws IOException {
        String inode = Files.getAttribute(directory, "unix:ino").toString();
        return Files.readAllLines(Path.of("/proc/locks")).stream()
                .map(LOCK::matcher)
                .filter(Matcher::matches)
                .filter(line -> line.group(2).equals(inode))
                .mapToInt(line -> Integer.parseInt(line.group(1)))
                .filter(pid -> pid > 0)
                .findFirst();
    }

    @Override
    public void close() {
        Posix.close(descriptor);
    }
}
