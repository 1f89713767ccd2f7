package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

class PosixTest {
    @TempDir Path directory;

    @ParameterizedTest
    @CsvSource({"/dev/null, 1, 3", "/dev/zero, 1, 5", "/dev/tty, 5, 0"})
    void devicesArePackedAsTheKernelDoes(Path path, int major, int minor) throws IOException {
        assertEquals(Files.getAttribute(path, "unix:rdev"), Posix.device(major, minor));
    }

    @Test
    @Tag("root")
    void largeMajorsAndMinorsArePackedAsTheKernelDoes() throws IOException {
        for (int major : List.of(195, 255, 256, 4095)) {
            for (int minor : List.of(0, 255, 256, 0xfffff)) {
                Path node = directory.resolve(major + "." + minor);
                Posix.mknod(node, 0600, major, minor);
                assertEquals(
                        Files.getAttribute(node, "unix:rdev"),
                        Posix.device(major, minor),
                        node + "");
            }
        }
    }

    @Test
    @Tag("root")
    void nodeOfATakenNameIsRefused() throws IOException {
        Path taken = Files.createFile(directory.resolve("taken"));
        var error = assertThrows(PosixException.class, () -> Posix.mknod(taken, 0600, 1, 3));
        assertEquals(Errno.EEXIST, error.errno());
        assertEquals("mknod " + taken + ": File exists", error.getMessage());
    }

    @Test
    void peerOfASocketIsItsProcess() throws IOException {
        var address = UnixDomainSocketAddress.of(directory.resolve("socket"));
        try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(address);
            try (var client = SocketChannel.open(address);
                    var accepted = server.accept()) {
                Peer us = new Peer(pid(), Posix.effectiveUser());
                assertEquals(us, Posix.peer(accepted));
                assertEquals(us, Posix.peer(client));
            }
        }
    }

    @Test
    void closedSocketHasNoPeer() throws IOException {
        SocketChannel closed = SocketChannel.open(StandardProtocolFamily.UNIX);
        closed.close();
        assertThrows(IOException.class, () -> Posix.peer(closed));
    }

    @Test
    void userIsTheOneThatOwnsOurFiles() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        assertEquals(Files.getAttribute(file, "unix:uid"), Posix.effectiveUser());
    }

    @Test
    void chmodSetsWhatTheUmaskWouldTake() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        Posix.chmod(file, 0666);
        assertEquals(
                PosixFilePermissions.fromString("rw-rw-rw-"), Files.getPosixFilePermissions(file));
    }

    @Test
    void chmodOfNothingNamesIt() {
        Path nothing = directory.resolve("nothing");
        var error = assertThrows(PosixException.class, () -> Posix.chmod(nothing, 0600));
        assertEquals("chmod " + nothing + ": No such file or directory", error.getMessage());
    }

    @Test
    void failuresKeepTheirErrno() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        assertFails(Errno.ENOENT, () -> Posix.chown(directory.resolve("nothing"), -1, -1));
        assertFails(Errno.ENOTDIR, () -> Posix.chmod(file.resolve("below"), 0600));
        assertFails(Errno.ENOTDIR, () -> Posix.chown(file.resolve("below"), -1, -1));
        assertFails(Errno.EPERM, () -> Posix.chmod(Path.of("/proc/self/stat"), 0600));
        assertFails(Errno.ENAMETOOLONG, () -> Posix.chmod(directory.resolve("n".repeat(256)), 0));
        assertFails(Errno.ENOTDIR, () -> Posix.openToRead(file.resolve("below")));
        assertFails(Errno.EBADF, () -> Posix.lock(-1));
        Path longest = Files.createFile(directory.resolve("\u00e9" + "n".repeat(253)));
        Posix.chmod(longest, 0606);
        assertEquals(
                PosixFilePermissions.fromString("rw----rw-"),
                Files.getPosixFilePermissions(longest));
    }

    private static void assertFails(int errno, Executable call) {
        assertEquals(errno, assertThrows(PosixException.class, call).errno());
    }

    /** Each thread has the errno of its own call, as have virtual ones. */
    @Test
    void errnoIsTheThreadsOwn() throws Exception {
        Path file = Files.createFile(directory.resolve("file"));
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            boolean missing = i % 2 == 0;
            Path path = missing ? directory.resolve("nothing") : file.resolve("below");
            tasks.add(() -> {
                for (int round = 0; round < 500; round++) {
                    assertFails(
                            missing ? Errno.ENOENT : Errno.ENOTDIR, () -> Posix.chmod(path, 0600));
                }
                return null;
            });
        }
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (Future<Void> each : threads.invokeAll(tasks)) {
                each.get();
            }
        }
    }

    @Test
    void lockedDirectoryIsNotLockedAgain() throws IOException {
        int first = Posix.openToRead(directory);
        int second = Posix.openToRead(directory);
        assertTrue(Posix.lock(first));
        assertFalse(Posix.lock(second));
        Posix.close(first);
        assertTrue(Posix.lock(second));
        Posix.close(second);
        assertFails(Errno.EBADF, () -> Posix.lock(second));
    }

    /** What jnr-posix lacks fails as a call that the kernel lacks: nothing is thrown or printed. */
    @Test
    void missingCallFailsWithItsErrno() {
        int result = PosixCalls.INSTANCE.exec("/bin/true", "true");
        var error =
                assertThrows(PosixException.class, () -> PosixCalls.check(result, () -> "exec"));
        assertEquals("exec: Function not implemented", error.getMessage());
    }

    @Test
    @Tag("root")
    void chownLeavesWhatIsMinusOne() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        Posix.chown(file, 12, 34);
        Posix.chown(file, -1, 56);
        assertEquals(12, Files.getAttribute(file, "unix:uid"));
        assertEquals(56, Files.getAttribute(file, "unix:gid"));
    }

    @Test
    void reflinkAcrossFileSystemsFailsAndLeavesNothing() {
        Path copy = directory.resolve("copy");
        var error =
                assertThrows(
                        PosixException.class,
                        () -> Posix.reflink(Path.of("/proc/version"), copy, 0644));
        Set<Integer> documented = Set.of(Errno.EOPNOTSUPP, Errno.EXDEV, Errno.EINVAL, Errno.ENOTTY);
        assertTrue(documented.contains(error.errno()), error.toString());
        assertTrue(error.getMessage().contains("/proc/version to " + copy), error.toString());
        assertFalse(Files.exists(copy));
    }

    @Test
    void reflinkLeavesAFileThatIsThere() throws IOException {
        Path from = Files.writeString(directory.resolve("from"), "new");
        Path taken = Files.writeString(directory.resolve("taken"), "old");
        var error = assertThrows(PosixException.class, () -> Posix.reflink(from, taken, 0644));
        assertEquals(Errno.EEXIST, error.errno());
        assertEquals("old", Files.readString(taken));
    }

    @Test
    void reflinkOfNothingMakesNothing() {
        Path nothing = directory.resolve("nothing");
        Path copy = directory.resolve("copy");
        var error = assertThrows(PosixException.class, () -> Posix.reflink(nothing, copy, 0644));
        assertEquals("open " + nothing + ": No such file or directory", error.getMessage());
        assertFalse(Files.exists(copy));
    }

    @Test
    void failedReflinksLeaveNoDescriptorOpen() throws IOException {
        Path copy = directory.resolve("copy");
        for (int i = 0; i < 50; i++) {
            assertThrows(
                    PosixException.class,
                    () -> Posix.reflink(Path.of("/proc/version"), copy, 0644));
        }
        assertEquals(0, openings("/proc/version") + openings(copy + " (deleted)"));
    }

    private static int pid() {
        return (int) ProcessHandle.current().pid();
    }

    private static int group() throws IOException {
        return (int) Files.getAttribute(Path.of("/proc/self"), "unix:gid");
    }

    /** Returns how many of our descriptors are open on a file. */
    private static long openings(String file) throws IOException {
        long count = 0;
        try (var descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    count += Files.readSymbolicLink(descriptor).endsWith(file) ? 1 : 0;
                } catch (NoSuchFileException e) {
                    // The descriptor that lists them.
                }
            }
        }
        return count;
    }
}
