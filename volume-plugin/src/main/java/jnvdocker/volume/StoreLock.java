package jnvdocker.volume;

import jnvdocker.posix.PrivateFile;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lets one thread of one process at a time change a store. The kernel frees it when the process
 * dies. The file is never deleted: a process that waits for it would then hold another file than
 * the next process.
 */
final class StoreLock {
    private static final long RETRY_MILLIS = 10;

    private final Path file;
    private final ReentrantLock threads = new ReentrantLock();

    interface Action<T> {
        T run() throws IOException;
    }

    StoreLock(Path file) {
        this.file = file;
    }

    <T> T holding(Action<T> action) throws IOException {
        threads.lock();
        try {
            // A file that others can open may be locked by them for ever: replace it.
            if (PrivateFile.isOpenToOthers(file)) {
                PrivateFile.replace(file).close();
            }
            try (FileChannel channel = PrivateFile.open(file)) {
                lock(channel);
                return action.run();
            }
        } finally {
            threads.unlock();
        }
    }

    /** A second store on the same directory in this process cannot wait in the kernel. */
    private void lock(FileChannel channel) throws IOException {
        while (true) {
            try {
                channel.lock();
                return;
            } catch (OverlappingFileLockException e) {
                pause();
            }
        }
    }

    private void pause() throws InterruptedIOException {
        try {
            Thread.sleep(RETRY_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while it waited for " + file);
        }
    }
}
