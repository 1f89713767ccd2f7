package jnvdocker.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.posix.SocketFile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Clients that cannot be received take no place from others. */
class SocketServerTest {
    private static final FrameMemory.Limits ONE_EACH = new FrameMemory.Limits(16, 16, 16, 10, 1);

    private final FrameMemory memory = new FrameMemory(ONE_EACH, Duration.ZERO);

    /** Receives no client but each third, to which it sends a byte. */
    private static final class EachThird implements SocketServer.Clients {
        private final AtomicInteger received = new AtomicInteger();

        @Override
        public Runnable receive(SocketChannel channel, FrameMemory.Account account)
                throws IOException {
            if (received.incrementAndGet() % 3 != 0) {
                throw new IOException("its process is gone");
            }
            return () -> {
                try (account;
                        channel) {
                    channel.write(ByteBuffer.wrap(new byte[] {1}));
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            };
        }

        @Override
        public void refuse(SocketChannel channel, FrameMemory.FullException why)
                throws IOException {
            channel.write(ByteBuffer.wrap(why.getMessage().getBytes(StandardCharsets.UTF_8)));
        }
    }

    @Test
    void clientThatWentAwayGivesItsPlaceBack(@TempDir Path directory) throws Exception {
        Path socket = directory.resolve("s");
        try (var listening = SocketFile.listen(socket, Optional.empty())) {
            SocketServer server = new SocketServer(listening, memory, new EachThird());
            server.start();
            for (int expected : new int[] {-1, -1, 1, -1, -1, 1}) {
                try (SocketChannel client =
                        SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
                    assertEquals(expected, client.read(ByteBuffer.allocate(100)));
                }
                awaitNothingTaken();
            }
            server.endConnections();
        }
    }

    /** The connection is closed before its memory is given back. */
    private void awaitNothingTaken() throws InterruptedException {
        for (int i = 0; i < 1000 && memory.taken() != 0; i++) {
            Thread.sleep(5);
        }
        assertEquals(0, memory.taken());
    }
}
