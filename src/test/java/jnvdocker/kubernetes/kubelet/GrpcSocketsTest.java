package jnvdocker.kubernetes.kubelet;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;

@Attack(
        by = "a kubelet or another plugin",
        what = "sends PINGs or SETTINGS without end, and reads no answer",
        result = "the connection ends before a mebibyte waits to be sent")
class GrpcSocketsTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String SETTINGS = "000000040000000000";
    private static final String PING = "0000080600000000000102030405060708";

    /** What the buffers of the sockets hold, and what is read at a time, included. */
    private static final int MOST = 8 << 20;

    @TempDir Path directory;

    /** Sends frames, each of which HTTP/2 has answered, and reads nothing. */
    private static long flood(ServerSocketChannel server, String frame) throws IOException {
        ByteBuffer some =
                ByteBuffer.wrap(HexFormat.of().parseHex(frame.repeat(4096 / frame.length())));
        long sent = 0;
        try (SocketChannel peer = server.accept()) {
            var out = Channels.newOutputStream(peer);
            out.write(HexFormat.of().parseHex(SETTINGS));
            while (sent < MOST) {
                out.write(some.array());
                sent += some.capacity();
            }
        } catch (IOException e) {
            // The connection has ended, as intended.
        }
        return sent;
    }

    @ParameterizedTest
    @ValueSource(strings = {SETTINGS, PING})
    void connectionToAPeerThatDoesNotReadEnds(String frame) throws Exception {
        Path socket = directory.resolve("plugin.sock");
        try (GrpcSockets grpc = new GrpcSockets();
                ServerSocketChannel server =
                        ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(socket));
            var sent =
                    CompletableFuture.supplyAsync(() -> {
                        try {
                            return flood(server, frame);
                        } catch (IOException e) {
                            throw new AssertionError(e);
                        }
                    });
            assertThrows(
                    GrpcException.class, () -> grpc.first(socket, Calls.LIST_AND_WATCH, LIMIT));
            assertTrue(sent.join() < MOST, () -> sent.join() + " bytes were answered");
        }
    }
}
