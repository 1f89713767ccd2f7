package jnvdocker.volume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.volume.files.TestingElf;
import jnvdocker.volume.files.TestingHost;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

class ConcurrentBuildersTest {
    private static final int LIBRARIES = 40;
    private static final int THREADS = 8;
    private static final int KILLS = Boolean.getBoolean("tests.quick") ? 12 / 4 : 12;

    @TempDir Path directory;
    private Path state;
    private TestingHost host;

    @BeforeEach
    void installDriver() throws IOException {
        state = directory.toRealPath().resolve("state");
        host = TestingHost.withDriver(directory.resolve("host"));
        for (int i = 0; i < LIBRARIES; i++) {
            host.file(
                    TestingHost.LIB + "/libnvidia-part" + i + ".so." + TestingHost.VERSION,
                    TestingElf.library("libnvidia-part" + i + ".so.1").needs("x".repeat(4000)));
        }
    }

    @Test
    void threadsOfOneStoreEndWithOneVolume() throws Exception {
        DriverVolumeStore store = new DriverVolumeStore(state, Set.of());
        assertOneVolume(() -> store);
    }

    @Test
    void storesOfOneProcessEndWithOneVolume() throws Exception {
        assertOneVolume(() -> new DriverVolumeStore(state, Set.of()));
    }

    @Test
    void processesEndWithOneVolume() throws Exception {
        try (BuilderProcess one = BuilderProcess.start(host, state, "once");
                BuilderProcess two = BuilderProcess.start(host, state, "once")) {
            one.go();
            two.go();
            one.expect("built");
            two.expect("built");
            assertEquals(0, one.waitFor());
            assertEquals(0, two.waitFor());
        }
        assertWhole();
    }

    @Test
    void killedBuilderLeavesNothingThatCountsAsAVolume() throws Exception {
        for (int i = 0; i < KILLS; i++) {
            try (BuilderProcess builder = BuilderProcess.start(host, state, "again")) {
                builder.go();
                builder.expect("built");
                LockSupport.parkNanos(1_700_000L * i);
            }
            DriverVolumeStore store = new DriverVolumeStore(state);
            for (DriverVolume volume : store.list()) {
                assertEquals(List.of(), volume.verify(host.host()), "kill " + i);
            }
            assertEquals(List.of(), build(store).verify(host.host()), "kill " + i);
            assertWhole();
            store.remove(TestingHost.VERSION);
        }
    }

    private void assertOneVolume(Callable<DriverVolumeStore> stores) throws Exception {
        CyclicBarrier start = new CyclicBarrier(THREADS);
        List<Future<Object>> inodes = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            for (int i = 0; i < THREADS; i++) {
                DriverVolumeStore store = stores.call();
                inodes.add(
                        threads.submit(() -> {
                            start.await();
                            return Files.getAttribute(build(store).path(), "unix:ino");
                        }));
            }
        }
        Set<Object> different = new HashSet<>();
        for (Future<Object> inode : inodes) {
            different.add(inode.get());
        }
        assertEquals(1, different.size(), "no builder replaced what another had built");
        assertWhole();
    }

    private DriverVolume build(DriverVolumeStore store) throws IOException {
        return store.build(host.host(), TestingHost.VERSION);
    }

    private void assertWhole() throws IOException {
        DriverVolumeStore store = new DriverVolumeStore(state);
        DriverVolume volume = store.find(TestingHost.VERSION).orElseThrow();
        assertEquals(List.of(), volume.verify(host.host()));
        assertEquals(LIBRARIES + 3, volume.manifest().files().size());
        assertTrue(
                DirectoryTree.names(volume.path().getParent())
                        .equals(List.of(".lock", TestingHost.VERSION.text())));
    }
}
