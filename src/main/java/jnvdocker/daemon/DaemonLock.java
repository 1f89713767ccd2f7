package jnvdocker.daemon;

import jnvdocker.config.StartException;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.PrivateFile;
import jnvdocker.posix.RegularFile;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes a daemon the only one of a directory for as long as it lives: the kernel releases the lock
 * however the process ends. The file is never removed, else a second daemon could lock a new file
 * of the same name; a file that others have locked, while it was open to them, is replaced.
 */
final class DaemonLock implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DaemonLock.class);
    private static final long PATIENCE_NANOS = 500_000_000;
    private static final int LONGEST_PID = 20;

    private final FileChannel file;

    private DaemonLock(FileChannel file) {
        this.file = file;
    }

    /**
     * @param name the name of the file that is locked
     * @param use what the daemon that has the lock does
     * @param remedy what helps besides stopping that daemon; empty for nothing
     * @throws StartException naming the process that has the lock
     */
    static DaemonLock take(Path directory, String name, String use, String remedy)
            throws IOException {
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new StartException(
                    "cannot make the directory " + FileErrors.describe(e),
                    or("fix that", remedy),
                    e);
        }
        Path path = directory.resolve(name);
        // One daemon at a time, so that none replaces the file of another.
        try (FileChannel turn = open(directory.resolve(name + ".turn"))) {
            turn.lock();
            return take(path, use, remedy);
        } catch (StartException e) {
            throw e;
        } catch (IOException e) {
            throw new StartException(
                    "cannot write the lock " + path + ": " + FileErrors.reason(e),
                    or("fix that", remedy),
                    e);
        }
    }

    private static String or(String remedy, String other) {
        return other.isEmpty() ? remedy : remedy + ", or " + other;
    }

    private static DaemonLock take(Path path, String use, String remedy) throws IOException {
        FileChannel file = open(path);
        try {
            if (!lock(file)) {
                if (!PrivateFile.isLockedByReaders(file)) {
                    throw new StartException(
                            "another jnvdockerd (pid %s) %s".formatted(pid(path), use),
                            or("stop it first", remedy));
                }
                LOG.warn(
                        "{} was writable by others, and a process other than jnvdockerd has locked"
                                + " it; replacing it",
                        path);
                file.close();
                file = PrivateFile.replace(path);
            }
            String pid = ProcessHandle.current().pid() + "\n";
            file.truncate(0);
            file.write(ByteBuffer.wrap(pid.getBytes(StandardCharsets.US_ASCII)), 0);
            return new DaemonLock(file);
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    private static String pid(Path path) throws IOException {
        byte[] pid = RegularFile.readOwn(path, LONGEST_PID).orElse(new byte[0]);
        return new String(pid, StandardCharsets.US_ASCII).strip();
    }

    private static FileChannel open(Path path) throws StartException {
        try {
            return PrivateFile.open(path);
        } catch (IOException e) {
            throw new StartException(
                    "cannot open the lock " + FileErrors.describe(e), "remove what is there", e);
        }
    }

    /** A process that was just killed keeps its locks for a moment, until its files are closed. */
    private static boolean lock(FileChannel file) throws IOException {
        for (int attempt = 0; attempt < 20; attempt++) {
            if (file.tryLock() != null) {
                return true;
            }
            LockSupport.parkNanos(PATIENCE_NANOS / 20);
        }
        return false;
    }

    @Override
    public void close() throws IOException {
        file.truncate(0);
        file.close();
    }
}
