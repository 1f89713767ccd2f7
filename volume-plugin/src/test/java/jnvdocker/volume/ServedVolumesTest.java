package jnvdocker.volume;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.volume.files.TestingHost;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Uses the real kernel: this process takes the part of the engine. */
@Tag("root")
class ServedVolumesTest {
    private static final String LIBCUDA = "lib64/libcuda.so.535.104.05";
    private static final int US = (int) ProcessHandle.current().pid();

    @TempDir Path directory;
    private TestingHost host;
    private DriverVolumeStore store;
    private ServedVolumes served;

    @BeforeEach
    void installDriver() throws IOException {
        host = TestingHost.withDriver(directory.resolve("host"));
        store = new DriverVolumeStore(directory.resolve("state"));
        served = anotherDaemons();
    }

    @AfterEach
    void unmount() throws IOException {
        served.releaseAll();
        assertFalse(Files.exists(directory.resolve("run/volumes/nvidia_driver")));
    }

    private ServedVolumes anotherDaemons() {
        return new ServedVolumes(store, directory.resolve("state"), directory.resolve("run"));
    }

    private ServedVolumes.Served serve(int engine) throws IOException {
        return served.serve(host.host(), TestingHost.VERSION, engine);
    }

    private static Object fileSystem(Path path) throws IOException {
        return Files.getAttribute(path, "unix:dev", LinkOption.NOFOLLOW_LINKS);
    }

    @Test
    void volumeIsOfAFileSystemThatNobodyWritesTo() throws IOException {
        ServedVolumes.Served sealed = serve(US);
        assertEquals(Optional.empty(), sealed.copied());
        Path libcuda = sealed.path().resolve(LIBCUDA);
        Path ours = store.path(TestingHost.VERSION).resolve(LIBCUDA);
        assertArrayEquals(Files.readAllBytes(ours), Files.readAllBytes(libcuda));
        FileSystemException e =
                assertThrows(
                        FileSystemException.class,
                        () -> Files.write(libcuda, new byte[1], StandardOpenOption.WRITE));
        assertEquals("Read-only file system", e.getReason());
        assertEquals(sealed, serve(US));
        assertFalse(Files.exists(directory.resolve("state/volumes/nvidia_driver_copy")));
    }

    /** A container's bind mount stands for the container. */
    @Test
    void whatIsInstalledLaterIsForTheNextContainer() throws Exception {
        String name = "lib64/libnvidia-encode.so." + TestingHost.VERSION;
        Path first = serve(US).path();
        Path container = Files.createDirectory(directory.resolve("container"));
        run("mount", "--bind", first.toString(), container.toString());
        try {
            host.library(
                    TestingHost.LIB,
                    "libnvidia-encode.so." + TestingHost.VERSION,
                    "libnvidia-encode.so.1");
            served.renew(host.host(), TestingHost.VERSION);
            assertFalse(Files.exists(serve(US).path().resolve(name)), "an installer is at work");
            served.renew(host.host(), TestingHost.VERSION);
            Path next = serve(US).path();
            assertTrue(Files.exists(next.resolve(name)));
            assertTrue(Files.exists(next.resolve(LIBCUDA)));
            assertFalse(Files.exists(container.resolve(name)));
            assertTrue(Files.size(container.resolve(LIBCUDA)) > 0);
            assertEquals(next, anotherDaemons().serve(host.host(), TestingHost.VERSION, US).path());
            assertTrue(Files.size(container.resolve(LIBCUDA)) > 0);
            store.sweepEarlier(host.host());
            assertTrue(Files.size(container.resolve(LIBCUDA)) > 0);
        } finally {
            run("umount", container.toString());
        }
        served.remove(TestingHost.VERSION);
        assertEquals(
                List.of(".lock"),
                DirectoryTree.names(directory.resolve("state/volumes/nvidia_driver")));
    }

    private static void run(String... command) throws Exception {
        assertEquals(0, new ProcessBuilder(command).inheritIO().start().waitFor());
    }

    @Test
    void nextDaemonKeepsUsingTheMount() throws IOException {
        Path path = serve(US).path();
        Object before = fileSystem(path);
        served = anotherDaemons();
        assertEquals(path, serve(US).path());
        assertEquals(before, fileSystem(path));
    }

    @Test
    void volumeThatWasRebuiltIsMountedAgain() throws IOException {
        Path path = serve(US).path();
        DirectoryTree.delete(store.path(TestingHost.VERSION));
        assertEquals(path, serve(US).path());
        assertTrue(Files.exists(path.resolve(LIBCUDA)));
        DirectoryTree.delete(store.path(TestingHost.VERSION));
        served = anotherDaemons();
        assertEquals(path, serve(US).path());
        assertTrue(Files.exists(path.resolve(LIBCUDA)));
    }

    @Test
    void engineWithMountsOfItsOwnGetsACopy() throws Exception {
        Path path = serve(US).path();
        Path ready = directory.resolve("ready");
        Process engine =
                new ProcessBuilder(
                                "unshare",
                                "--mount",
                                "--propagation",
                                "private",
                                "sh",
                                "-c",
                                "umount \"$0\"; touch \"$1\"; exec sleep 1000",
                                path.toString(),
                                ready.toString())
                        .inheritIO()
                        .start();
        try {
            while (!Files.exists(ready)) {
                Thread.sleep(5);
            }
            ServedVolumes.Served copy = serve((int) engine.pid());
            assertTrue(
                    copy.copied()
                            .orElseThrow()
                            .what()
                            .startsWith(
                                    "process "
                                            + engine.pid()
                                            + ", which starts them, does not see "
                                            + path),
                    copy::toString);
            assertEquals(copy, served.known(store.find(TestingHost.VERSION).orElseThrow()));
            Path libcuda = copy.path().resolve(LIBCUDA);
            Path ours = store.path(TestingHost.VERSION).resolve(LIBCUDA);
            assertFalse(Files.isSameFile(ours, libcuda));
            assertArrayEquals(Files.readAllBytes(ours), Files.readAllBytes(libcuda));
            assertTrue(served.freedBytes(TestingHost.VERSION) >= Files.size(libcuda));
            // Another engine that does see it is given the mounted one.
            assertEquals(path, serve(US).path());
            served.remove(TestingHost.VERSION);
            assertFalse(Files.exists(copy.path()));
            assertFalse(Files.exists(path));
        } finally {
            engine.destroyForcibly().waitFor();
        }
    }

    @Test
    void whereItCannotBeMountedACopyIsServedWithTheReason() throws IOException {
        Path odd = Files.createDirectory(directory.resolve("a,b:c"));
        DriverVolumeStore there = new DriverVolumeStore(odd);
        ServedVolumes volumes = new ServedVolumes(there, odd, directory.resolve("run"));
        ServedVolumes.Served copy = volumes.serve(host.host(), TestingHost.VERSION, US);
        assertNotEquals(there.path(TestingHost.VERSION), copy.path());
        assertTrue(copy.copied().orElseThrow().what().contains("characters"), copy::toString);
    }

    /** None of its files is the host's. */
    @Test
    void volumeOfCopiesIsNotCopiedOnceMore() throws IOException {
        store = new DriverVolumeStore(directory.resolve("state"), Set.of());
        served = anotherDaemons();
        assertEquals(store.path(TestingHost.VERSION), serve(Integer.MAX_VALUE).path());
        assertFalse(Files.exists(directory.resolve("state/volumes/nvidia_driver_copy")));
    }
}
