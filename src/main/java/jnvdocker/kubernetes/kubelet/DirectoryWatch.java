package jnvdocker.kubernetes.kubelet;

import jnvdocker.holder.Periodic;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;

/**
 * Runs an action when a file in a directory is made or removed; the directory itself may come and
 * go.
 */
final class DirectoryWatch implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DirectoryWatch.class);

    private final Path directory;
    private final Runnable changed;
    private final Periodic thread;

    /**
     * @param pause the wait before the next attempt to watch a directory that does not exist
     */
    DirectoryWatch(Path directory, Duration pause, Runnable changed) {
        this.directory = directory;
        this.changed = changed;
        thread = new Periodic("directory-watch", pause, this::follow);
    }

    void start() {
        thread.startVirtual();
    }

    /** Returns when it cannot be watched, or has gone. */
    private void follow() throws InterruptedException {
        try (WatchService watch = FileSystems.getDefault().newWatchService()) {
            directory.register(
                    watch,
                    StandardWatchEventKinds.ENTRY_CREATE,
                    StandardWatchEventKinds.ENTRY_DELETE);
            changed.run(); // what came before
            WatchKey key;
            do {
                key = watch.take();
                key.pollEvents();
                changed.run();
            } while (key.reset());
        } catch (IOException e) {
            LOG.debug("cannot watch {}: {}", directory, e.getMessage());
        }
    }

    @Override
    public void close() {
        thread.end(Duration.ZERO);
    }
}
