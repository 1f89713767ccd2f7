package jnvdocker.volume.plugin;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads that docker's verbs run on. They are platform threads: a verb that is busy with files
 * or in libraries blocks no other. Quick answers never wait behind slow ones, nor mounts behind
 * copies of files.
 */
final class VerbThreads implements AutoCloseable {
    private static final int IDLE_SECONDS = 30;

    /** Verbs that may wait for each other. */
    enum Lane {
        /** Requests that are answered from memory. */
        READ,
        MOUNTED,
        /** A volume that is made may have its files copied. */
        MADE;

        static Lane of(String verb) {
            return switch (verb) {
                case "VolumeDriver.Mount", "VolumeDriver.Unmount" -> MOUNTED;
                case "VolumeDriver.Create", "VolumeDriver.Remove" -> MADE;
                default -> READ;
            };
        }
    }

    /**
     * @param waiting how many verbs of a lane may wait for one of its threads
     * @param patienceMillis after which a verb that waits is refused
     */
    record Limits(int read, int mounted, int made, int waiting, long patienceMillis) {
        /**
         * dockerd, when it starts, mounts for 128 containers per processor at a time, and each of
         * its connections may wait.
         */
        static final Limits USUAL = new Limits(4, 64, 16, 4096, TimeUnit.MINUTES.toMillis(1));

        private int threads(Lane lane) {
            return switch (lane) {
                case READ -> read;
                case MOUNTED -> mounted;
                case MADE -> made;
            };
        }
    }

    private final Map<Lane, ThreadPoolExecutor> lanes = new EnumMap<>(Lane.class);

    VerbThreads(Limits limits) {
        for (Lane lane : Lane.values()) {
            int threads = limits.threads(lane);
            ThreadPoolExecutor executor =
                    new ThreadPoolExecutor(
                            threads,
                            threads,
                            IDLE_SECONDS,
                            TimeUnit.SECONDS,
                            new ArrayBlockingQueue<>(limits.waiting()),
                            Thread.ofPlatform()
                                    .daemon()
                                    .name("verbs-" + lane.name().toLowerCase(Locale.ROOT) + "-", 0)
                                    .factory());
            executor.allowCoreThreadTimeOut(true);
            lanes.put(lane, executor);
        }
    }

    /** Returns whether there was room. */
    boolean execute(String verb, Runnable task) {
        try {
            lanes.get(Lane.of(verb)).execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    @Override
    public void close() {
        lanes.values().forEach(ThreadPoolExecutor::shutdownNow);
    }
}
