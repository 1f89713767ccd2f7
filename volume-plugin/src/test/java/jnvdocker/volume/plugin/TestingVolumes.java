package jnvdocker.volume.plugin;

import jnvdocker.posix.ProcessId;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;

/**
 * Volumes {@code test_<version>} that are nothing but their names. {@link #BROKEN} fails like a bug
 * of ours, {@link #OUT_OF_ORDER} like a machine, and {@link #SILENT} without a message; {@link
 * #SLOW} is created when the test says so.
 */
final class TestingVolumes implements PluginVolumes {
    static final String BROKEN = "test_0.0";
    static final String OUT_OF_ORDER = "test_0.1";
    static final String SILENT = "test_0.2";
    static final String SLOW = "test_9.9";

    final List<String> uses = new ArrayList<>();
    final CountDownLatch slowHasBegun = new CountDownLatch(1);
    final CountDownLatch slowMayEnd = new CountDownLatch(1);
    private final SortedMap<String, Map<String, String>> volumes = new TreeMap<>();

    @Override
    public boolean owns(String name) {
        return name.startsWith("test_");
    }

    @Override
    public void create(String name, Map<String, String> options) {
        if (name.equals(SLOW)) {
            slowHasBegun.countDown();
            await(slowMayEnd);
        }
        put(name, options);
    }

    private synchronized void put(String name, Map<String, String> options) {
        volumes.put(name, options);
    }

    @Override
    public synchronized void remove(String name) throws RefusedException, IOException {
        get(name);
        volumes.remove(name);
    }

    @Override
    public synchronized Path mount(String name, String id, ProcessId caller)
            throws RefusedException, IOException {
        uses.add("mount " + name + " " + id);
        return get(name).mountpoint();
    }

    @Override
    public synchronized void unmount(String name, String id) throws RefusedException, IOException {
        get(name);
        uses.add("unmount " + name + " " + id);
    }

    @Override
    public synchronized VolumeInfo get(String name) throws RefusedException, IOException {
        if (name.equals(BROKEN)) {
            throw new IllegalStateException("secret of the implementation");
        }
        if (name.equals(OUT_OF_ORDER)) {
            throw new StackOverflowError();
        }
        if (name.equals(SILENT)) {
            throw new IOException("");
        }
        if (!volumes.containsKey(name)) {
            throw new RefusedException("no such volume: " + name, "create it");
        }
        return new VolumeInfo(name, Path.of("/volumes", name), Map.of("opts", volumes.get(name)));
    }

    @Override
    public synchronized List<VolumeInfo> list() {
        return volumes.keySet().stream()
                .map(name -> new VolumeInfo(name, Path.of("/volumes", name), Map.of()))
                .toList();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
