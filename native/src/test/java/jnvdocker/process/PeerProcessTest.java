package jnvdocker.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Optional;

class PeerProcessTest {
    /** A child keeps the connection until it is closed here. */
    private static final String LEAVE =
            """
            use IO::Socket::UNIX;
            my $socket = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => $ARGV[0]) or die "$!";
            exit 0 if fork;
            sysread($socket, $_, 1);
            """;

    private final Processes processes = Processes.ofThisMachine();
    @TempDir Path directory;
    private UnixDomainSocketAddress address;
    private ServerSocketChannel server;

    @BeforeEach
    void listen() throws IOException {
        address = UnixDomainSocketAddress.of(directory.resolve("socket"));
        server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(address);
    }

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    @Test
    void itIsTheProcessAtTheOtherEnd() throws IOException {
        try (var client = SocketChannel.open(address);
                var accepted = server.accept()) {
            var us = processes.find((int) ProcessHandle.current().pid());
            assertEquals(us, PeerProcess.of(accepted));
            assertEquals(us, PeerProcess.of(client));
        }
    }

    @Test
    void aProcessThatHasEndedIsNone() throws Exception {
        Process process =
                new ProcessBuilder("perl", "-we", LEAVE, address.getPath().toString())
                        .inheritIO()
                        .start();
        try (var accepted = server.accept()) {
            assertEquals(0, process.waitFor());
            assertEquals(Optional.empty(), PeerProcess.of(accepted));
        }
    }

    @Test
    void aClosedSocketHasNone() throws IOException {
        SocketChannel closed = SocketChannel.open(StandardProtocolFamily.UNIX);
        closed.close();
        assertEquals(Optional.empty(), PeerProcess.of(closed));
    }
}
