package jnvdocker.kubelet;

import jnvdocker.posix.PermanentThread;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;

/** Runs an action when a file in a folder is made or removed; the folder itself may come and go. */
final class FolderWatch implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FolderWatch.class);

    private final Path folder;
    private final Duration pause;
    private final Runnable changed;
    private final Thread thread;

    /**
     * @param pause the wait before the next attempt to watch a folder that does not exist
     */
    FolderWatch(Path folder, Duration pause, Runnable changed) {
        this.folder = folder;
        this.pause = pause;
        this.changed = changed;
        thread = PermanentThread.virtual("folder-watch", this::watch);
    }

    void start() {
        thread.start();
    }

    private void watch() {
        try {
            while (true) {
                follow();
                Thread.sleep(pause);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns when it cannot be watched, or has gone. */
    private void follow() throws InterruptedException {
        try (WatchService watch = FileSystems.getDefault().newWatchService()) {
            folder.register(
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
            LOG.debug("cannot watch {}: {}", folder, e.getMessage());
        }
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
