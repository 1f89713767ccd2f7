package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;

class DiskRoomTest {
    @TempDir Path directory;

    @Test
    void isWhatJavaSees() throws IOException {
        FileStore store = Files.getFileStore(directory);
        DiskRoom room = DiskRoom.of(directory);
        assertEquals(store.isReadOnly(), room.readOnly());
        // Other processes write meanwhile.
        assertTrue(Math.abs(store.getUsableSpace() - room.bytes()) < 1 << 30, room::toString);
        assertTrue(room.forFiles());
    }

    /** Proc counts neither bytes nor files. */
    @Test
    void whereFilesAreNotCountedNoneIsMissing() throws IOException {
        assertTrue(DiskRoom.of(Path.of("/proc/self")).forFiles());
    }

    @Test
    void whatIsNotThereHasNone() {
        Path gone = directory.resolve("gone");
        var error = assertThrows(PosixException.class, () -> DiskRoom.of(gone));
        assertEquals(Errno.ENOENT, error.errno());
    }

    @Test
    @Tag("root")
    void diskWithoutRoomForANameAndOneThatNobodyMayWriteAreSeen() throws Exception {
        run("mount", "-t", "tmpfs", "-o", "nr_inodes=2", "tmpfs", directory.toString());
        try {
            assertTrue(DiskRoom.of(directory).forFiles());
            Files.createFile(directory.resolve("last"));
            assertFalse(DiskRoom.of(directory).forFiles());
            assertFalse(DiskRoom.of(directory).readOnly());
            run("mount", "-o", "remount,ro", directory.toString());
            assertTrue(DiskRoom.of(directory).readOnly());
        } finally {
            run("umount", directory.toString());
        }
    }

    private static void run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).inheritIO().start();
        assertEquals(0, process.waitFor(), String.join(" ", command));
    }
}
