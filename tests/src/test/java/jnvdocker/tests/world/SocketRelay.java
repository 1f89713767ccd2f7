package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/**
 * Makes an engine reachable at a second address, Unix or TCP, as one on another machine would be.
 */
public final class SocketRelay implements AutoCloseable {
    private final ServerSocketChannel server;
    private final Path target;

    public SocketRelay(SocketAddress address, Path target) {
        this.target = target;
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

    /** Where it listens, with the port that it got. */
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
            // Closed: no more clients.
        }
    }

    /** Each direction ends on its own: docker closes its half when it has no more to send. */
    private void relay(SocketChannel client) {
        try (client;
                SocketChannel engine = SocketChannel.open(UnixDomainSocketAddress.of(target))) {
            Thread there = Thread.ofVirtual().start(() -> copy(client, engine));
            copy(engine, client);
            there.join();
        } catch (IOException e) {
            // The engine is gone, and the client is told by closing.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void copy(SocketChannel from, SocketChannel to) {
        ByteBuffer bytes = ByteBuffer.allocate(1 << 16);
        try {
            while (from.read(bytes.clear()) >= 0) {
                bytes.flip();
                while (bytes.hasRemaining()) {
                    to.write(bytes);
                }
            }
            to.shutdownOutput();
        } catch (IOException e) {
            // One side is gone.
        }
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
