package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

class SocketFileTest {
    @TempDir Path directory;
    private Path path;

    @BeforeEach
    void namePath() {
        path = directory.resolve("test.sock");
    }

    @Test
    void roomIsThereWhereNothingIs() throws IOException {
        SocketFile.makeRoom(path);
        assertFalse(Files.exists(path));
    }

    @Test
    void leftOverSocketMakesRoom() throws IOException {
        leaveSocket();
        SocketFile.makeRoom(path);
        assertFalse(Files.exists(path));
    }

    @Test
    void servedSocketStays() throws IOException {
        try (ServerSocketChannel _ = listen()) {
            assertRefusal("another program serves it");
            assertTrue(Files.exists(path));
        }
    }

    @Test
    void whatIsNoSocketStays() throws IOException {
        Files.writeString(path, "precious");
        assertRefusal("there is something else");
        assertEquals("precious", Files.readString(path));
    }

    @Test
    void linkStaysAndSoDoesItsTarget() throws IOException {
        Path socket = path;
        leaveSocket();
        path = Files.createSymbolicLink(directory.resolve("link"), socket);
        assertRefusal("there is something else");
        assertTrue(Files.isSymbolicLink(path));
        assertTrue(Files.exists(socket, LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void ownNameIsDeleted() throws IOException {
        try (ServerSocketChannel _ = listen()) {
            SocketFile.of(path).delete();
            assertFalse(Files.exists(path));
        }
    }

    @Test
    void nameThatIsGoneIsDeletedAlready() throws IOException {
        leaveSocket();
        SocketFile file = SocketFile.of(path);
        Files.delete(path);
        file.delete();
    }

    @Test
    void nameThatAnotherSocketHasByNowStays() throws IOException {
        try (ServerSocketChannel _ = listen()) {
            SocketFile file = SocketFile.of(path);
            Files.move(path, directory.resolve("old.sock")); // keeps its inode taken
            leaveSocket();
            file.delete();
            assertTrue(Files.exists(path));
        }
    }

    private void assertRefusal(String reason) {
        var error = assertThrows(IOException.class, () -> SocketFile.makeRoom(path));
        assertEquals(path + ": " + reason, FileErrors.describe(error));
    }

    private ServerSocketChannel listen() throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(path));
        return server;
    }

    private void leaveSocket() throws IOException {
        listen().close();
    }
}
