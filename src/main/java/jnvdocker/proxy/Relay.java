package jnvdocker.proxy;

import jnvdocker.protocol.Deadlines;
import jnvdocker.protocol.FrameMemory;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;

/**
 * Copies between a client and the engine until both directions have ended. The end of one does not
 * end the other: docker sends the end of a container's standard input that way.
 */
final class Relay {
    private static final Logger LOG = LoggerFactory.getLogger(Relay.class);

    /** For a connection that waits for data; there may be many. */
    private static final int SMALL = 4 << 10;

    private static final int LARGE = 64 << 10;

    /**
     * How long a client that has its whole answer may go on sending. If the connection were closed
     * with unread data, the kernel would reset it, and the client could lose the answer.
     */
    private static final Duration LINGER = Duration.ofSeconds(10);

    private final SocketChannel client;
    private final FrameMemory.Account memory;
    private final Deadlines deadlines;

    @FunctionalInterface
    private interface Sink {
        void write(byte[] bytes, int length) throws IOException;
    }

    Relay(SocketChannel client, FrameMemory.Account memory, Deadlines deadlines) {
        this.client = client;
        this.memory = memory;
        this.deadlines = deadlines;
    }

    /**
     * Returns when both directions have ended.
     *
     * @param begun goes to the engine before the rest of the request
     */
    void run(byte[] begun, InputStream rest, SocketChannel engine, ExecutorService threads)
            throws IOException {
        Future<?> sending = threads.submit(() -> send(begun, rest, engine));
        receive(engine);
        try (Deadlines.Deadline _ = deadlines.in(LINGER, client)) {
            sending.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("the proxy is stopping", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("a request was not sent on", e.getCause());
        }
    }

    /** Ends an answer of our own, and discards what the client goes on sending. */
    void end(InputStream request) throws IOException {
        client.shutdownOutput();
        try (Deadlines.Deadline _ = deadlines.in(LINGER, client)) {
            request.transferTo(OutputStream.nullOutputStream());
        }
    }

    /** Without a client nobody needs the engine's answer, so it is to notice. */
    private void receive(SocketChannel engine) {
        OutputStream out = Channels.newOutputStream(client);
        try {
            copy(Channels.newInputStream(engine), (bytes, length) -> out.write(bytes, 0, length));
            client.shutdownOutput();
        } catch (IOException e) {
            LOG.debug("an answer ended: {}", e.getMessage());
            shutdown(client);
        } finally {
            close(engine);
        }
    }

    /** Goes on reading when the engine takes no more: its answer may be on the way. */
    private void send(byte[] begun, InputStream rest, SocketChannel engine) {
        Tolerant out = new Tolerant(Channels.newOutputStream(engine));
        try {
            out.write(begun, begun.length);
            copy(rest, out);
            engine.shutdownOutput();
        } catch (IOException e) {
            LOG.debug("a request ended: {}", e.getMessage());
            close(engine);
        }
    }

    private static final class Tolerant implements Sink {
        private final OutputStream out;
        private boolean broken;

        Tolerant(OutputStream out) {
            this.out = out;
        }

        @Override
        public void write(byte[] bytes, int length) {
            try {
                if (!broken) {
                    out.write(bytes, 0, length);
                }
            } catch (IOException e) {
                LOG.debug("the engine takes no more of a request: {}", e.getMessage());
                broken = true;
            }
        }
    }

    private void copy(InputStream from, Sink to) throws IOException {
        byte[] buffer = new byte[SMALL];
        try {
            for (int read = from.read(buffer); read >= 0; read = from.read(buffer)) {
                to.write(buffer, read);
                buffer = next(buffer, read);
            }
        } finally {
            if (buffer.length == LARGE) {
                memory.give(LARGE);
            }
        }
    }

    /** Returns a buffer for as much as the last read suggests. */
    private byte[] next(byte[] buffer, int read) {
        if (buffer.length == LARGE && read < SMALL) {
            memory.give(LARGE);
            return new byte[SMALL];
        }
        if (buffer.length == SMALL && read == SMALL) {
            try {
                memory.takeAtOnce(LARGE);
                return new byte[LARGE];
            } catch (FrameMemory.FullException e) {
                return buffer; // slower, but it goes on
            }
        }
        return buffer;
    }

    private static void shutdown(SocketChannel channel) {
        try {
            channel.shutdownOutput();
        } catch (IOException e) {
            LOG.debug("a client is gone: {}", e.getMessage());
        }
    }

    private static void close(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("cannot close a connection to the engine: {}", e.getMessage());
        }
    }
}
