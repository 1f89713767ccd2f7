package jnvdocker.process;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;

class SocketServersTest {
    @TempDir Path directory;
    private Path socket;
    private Path proc;

    @BeforeEach
    void systemdListens() throws IOException {
        socket = Files.createFile(directory.resolve("docker.sock"));
        proc = Files.createDirectory(directory.resolve("proc"));
        Files.createDirectory(proc.resolve("net"));
        table("00010000", socket.toString());
        opens(1, 4242);
        opens(99, 1111);
    }

    @Test
    void socketThatSystemdAloneHasIsNotServed() {
        assertFalse(isServed());
    }

    @Test
    void socketThatItsServiceHasTooIsServed() throws IOException {
        opens(99, 4242);
        assertTrue(isServed());
    }

    @Test
    void socketThatSystemdDoesNotHaveIsServed() throws IOException {
        Files.delete(proc.resolve("1/fd/4242"));
        assertTrue(isServed());
    }

    @Test
    void connectionsOfTheSamePathDoNotListen() throws IOException {
        table("00000000", socket.toString());
        assertTrue(isServed());
    }

    @Test
    void pathMayBeSpelledThroughALink() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("run"), directory.toRealPath());
        table("00010000", link.resolve("docker.sock").toString());
        assertFalse(isServed());
    }

    @Test
    void unknownStateCountsAsServed() throws IOException {
        Files.delete(proc.resolve("net/unix"));
        assertTrue(isServed());
        assertTrue(new SocketServers(proc).isServed(directory.resolve("none")));
    }

    @Test
    void realSocketOfOursIsServed() throws IOException {
        Path real = directory.resolve("real.sock");
        try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(real));
            assertTrue(SocketServers.ofThisMachine().isServed(real));
        }
    }

    private boolean isServed() {
        return new SocketServers(proc).isServed(socket);
    }

    /** Written in the kernel's format. */
    private void table(String flags, String path) throws IOException {
        Files.writeString(
                proc.resolve("net/unix"),
                """
                Num       RefCount Protocol Flags    Type St Inode Path
                0000000000000000: 00000002 00000000 00010000 0001 01  1234 /run/other.sock
                0000000000000000: 00000003 00000000 00000000 0001 03  4243
                0000000000000000: 00000002 00000000 %s 0001 01  4242 %s
                """
                        .formatted(flags, path));
    }

    private void opens(int pid, int inode) throws IOException {
        Path files = Files.createDirectories(proc.resolve(pid + "/fd"));
        Files.createSymbolicLink(files.resolve("" + inode), Path.of("socket:[" + inode + "]"));
    }
}
