package jnvdocker.volume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.volume.files.DriverVolumeException;
import jnvdocker.volume.files.TestingHost;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * State directories that cannot hold a volume: the refusal names the directory, the reason and the
 * remedy.
 */
class StateDirectoryTest {
    @TempDir Path directory;
    private Path mount;
    private TestingHost host;
    private boolean mounted;

    @BeforeEach
    void installDriver() throws IOException {
        mount = Files.createDirectory(directory.toRealPath().resolve("mount"));
        host = TestingHost.withDriver(directory.resolve("host"));
    }

    @AfterEach
    void unmount() throws Exception {
        if (mounted) {
            run("umount", mount.toString());
        }
    }

    @Test
    @Tag("root")
    void noexecMountIsNamed() throws Exception {
        mount("noexec");
        assertRefusal(mount + " is mounted noexec", "mount -o remount,exec " + mount);
    }

    @Test
    @Tag("root")
    void volumeOnAMountThatBecameNoexecIsRefused() throws Exception {
        mount("rw");
        new DriverVolumeStore(mount).build(host.host(), TestingHost.VERSION);
        run("mount", "-o", "remount,noexec", mount.toString());
        assertRefusal("noexec", "remount,exec");
    }

    @Test
    @Tag("root")
    void readOnlyMountIsNamed() throws Exception {
        mount("ro");
        assertRefusal("Read-only file system", "mount it writable");
    }

    @Test
    @Tag("root")
    void tooLittleRoomIsSaidBeforeAnythingIsCopied() throws Exception {
        mount("size=64k");
        enlarge("/libcuda.so.", 1 << 20);
        assertRefusal("only ", "free some space there");
        assertEquals(List.of(".lock"), DirectoryTree.names(mount.resolve("volumes/nvidia_driver")));
    }

    @Test
    @Tag("root")
    void diskThatFillsUpLeavesNothing() throws Exception {
        mount("nr_inodes=9");
        assertRefusal("No space left on device", "free some space there");
        Set<String> names = Set.copyOf(DirectoryTree.names(mount.resolve("volumes/nvidia_driver")));
        assertTrue(Set.of(".lock").containsAll(names), names.toString());
    }

    private void assertRefusal(String reason, String remedy) {
        String text =
                assertThrows(
                                DriverVolumeException.class,
                                () ->
                                        new DriverVolumeStore(mount)
                                                .build(host.host(), TestingHost.VERSION))
                        .getMessage();
        assertTrue(text.contains(mount.toString()), text);
        assertTrue(text.contains(reason), text);
        assertTrue(text.contains(remedy), text);
        assertFalse(text.contains("Exception"), text);
    }

    private void enlarge(String name, int bytes) throws IOException {
        Path file = host.path(TestingHost.LIB + name + TestingHost.VERSION);
        byte[] small = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(small, bytes));
    }

    private void mount(String options) throws Exception {
        run("mount", "-t", "tmpfs", "-o", options, "tmpfs", mount.toString());
        mounted = true;
    }

    private static void run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).inheritIO().start();
        assertEquals(0, process.waitFor(), String.join(" ", command));
    }
}
