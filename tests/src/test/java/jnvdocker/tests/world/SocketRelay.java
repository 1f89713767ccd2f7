package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Makes a Unix socket reachable at a second address, Unix or TCP, such as an engine on another
 * machine.
 */
public final class SocketRelay implements AutoCloseable {
    private final ServerSocketChannel server;
    private final Path target;
    private final Tap tap;

    /** The data of one read from either side: a request or an answer, unless it is large. */
    public interface Piece {
        void deliver() throws IOException;

        /** The data, with each byte as a character. */
        String text();
    }

    /** Is called with all data, on several threads; data that it does not deliver is lost. */
    @FunctionalInterface
    public interface Tap {
        void pass(Piece piece) throws IOException;
    }

    public SocketRelay(SocketAddress address, Path target) {
        this(address, target, Piece::deliver);
    }

    public SocketRelay(SocketAddress address, Path target, Tap tap) {
        this.target = target;
        this.tap = tap;
        try {
            server =
                    address instanceof UnixDomainSocketAddress
                            ? ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX)
                            : ServerSocketChannel.open();
            server.bind(address);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().start(this::accept);
    }

    /** The address at which it listens, with the chosen port. */
    public SocketAddress address() {
        try {
            return server.getLocalAddress();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void accept() {
        try {
            while (true) {
                SocketChannel client = server.accept();
                Thread.ofVirtual().start(() -> relay(client));
            }
        } catch (IOException e) {
            // It was closed: there are no more clients.
        }
    }

    /** Each direction ends on its own: docker closes its half when it has nothing more to send. */
    private void relay(SocketChannel client) {
        try (client;
                SocketChannel engine = SocketChannel.open(UnixDomainSocketAddress.of(target))) {
            Thread there = Thread.ofVirtual().start(() -> copy(client, engine));
            copy(engine, client);
            there.join();
        } catch (IOException e) {
            // The engine is gone; closing notifies the client.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** When one side is reset, the other is shut down, so that it does not wait for an answer. */
    private void copy(SocketChannel from, SocketChannel to) {
        ByteBuffer bytes = ByteBuffer.allocate(1 << 16);
        try {
            try {
                while (from.read(bytes.clear()) >= 0) {
                    bytes.flip();
                    tap.pass(piece(bytes, to));
                }
            } finally {
                to.shutdownOutput();
            }
        } catch (IOException e) {
            // One side is gone.
        }
    }

    private static Piece piece(ByteBuffer bytes, SocketChannel to) {
        return new Piece() {
            @Override
            public void deliver() throws IOException {
                write(bytes, to);
            }

            @Override
            public String text() {
                return StandardCharsets.ISO_8859_1.decode(bytes.duplicate()).toString();
            }
        };
    }

    private static void write(ByteBuffer bytes, SocketChannel to) throws IOException {
        while (bytes.hasRemaining()) {
            to.write(bytes);
        }
    }

    /** Takes no more connections; existing ones go on. */
    @Override
    public void close() {
        try {
            SocketAddress address = server.getLocalAddress();
            server.close();
            if (address instanceof UnixDomainSocketAddress unix) {
                Files.deleteIfExists(unix.getPath());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
