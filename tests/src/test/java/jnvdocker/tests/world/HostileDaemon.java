package jnvdocker.tests.world;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/** Listens where the client expects the daemon, and runs the same script for every connection. */
public final class HostileDaemon implements AutoCloseable {
    private static final int PATIENCE_SECONDS = 30;

    private final ServerSocketChannel server;
    private final Script script;
    private final Queue<SocketChannel> clients = new ConcurrentLinkedQueue<>();
    private final CompletableFuture<byte[]> received = new CompletableFuture<>();
    private final CountDownLatch visited = new CountDownLatch(1);

    /** The script of a connection, which is closed afterwards. */
    public interface Script {
        /** Returns the client's words. */
        byte[] play(SocketChannel client) throws IOException, InterruptedException;

        /** Sends this immediately, whatever the client sends, and then reads to the end. */
        static Script saying(byte[] bytes) {
            return inPieces(bytes, Math.max(1, bytes.length));
        }

        /** Sends bytes in pieces of this length. */
        static Script inPieces(byte[] bytes, int length) {
            return client -> {
                Thread.startVirtualThread(() -> say(client, bytes, length));
                return rest(client);
            };
        }

        /** Reads the request, and sends the answer to it. */
        static Script answering(Function<List<String>, Frames> answer) {
            return client -> {
                DataInputStream in = new DataInputStream(Channels.newInputStream(client));
                in.skipNBytes("Q".length() + 4 * Integer.BYTES);
                string(in);
                strings(in);
                byte[] frames = answer.apply(strings(in)).toBytes();
                strings(in);
                say(client, frames, frames.length);
                return rest(client);
            };
        }

        /**
         * Runs the script for the first client only. The requests of others are read to their end
         * and not answered.
         */
        static Script once(Script first) {
            AtomicBoolean visited = new AtomicBoolean();
            return client -> visited.getAndSet(true) ? rest(client) : first.play(client);
        }

        /** Reads that many bytes of the request, or all if it is shorter, and sends nothing. */
        static Script hanging(int upAfter) {
            return client -> {
                ByteBuffer some = ByteBuffer.allocate(upAfter);
                while (some.hasRemaining() && client.read(some) >= 0) {
                    // More of it may be on the way.
                }
                return some.array();
            };
        }
    }

    public HostileDaemon(Path socket, Script script) {
        this.script = script;
        try {
            server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            server.bind(UnixDomainSocketAddress.of(socket));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.startVirtualThread(this::serve);
    }

    /** Everything that the first client sent. */
    public byte[] received() {
        return received.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
    }

    /** Waits until a client has connected. */
    public void awaitVisitor() throws InterruptedException {
        visited.await();
    }

    private void serve() {
        while (true) {
            try (SocketChannel client = server.accept()) {
                clients.add(client);
                visited.countDown();
                received.complete(script.play(client));
            } catch (InterruptedException e) {
                return;
            } catch (IOException e) {
                if (!server.isOpen()) {
                    return;
                }
            }
        }
    }

    private static List<String> strings(DataInputStream in) throws IOException {
        List<String> all = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            all.add(string(in));
        }
        return all;
    }

    private static String string(DataInputStream in) throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }

    private static void say(SocketChannel client, byte[] bytes, int length) {
        try {
            ByteBuffer all = ByteBuffer.wrap(bytes);
            for (int at = 0; at < bytes.length; at = all.position()) {
                all.limit(Math.min(bytes.length, at + length));
                client.write(all);
            }
            client.shutdownOutput();
        } catch (IOException e) {
            // The client stopped reading.
        }
    }

    private static byte[] rest(SocketChannel client) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        ByteBuffer some = ByteBuffer.allocate(1 << 16);
        try {
            while (client.read(some.clear()) >= 0) {
                all.write(some.array(), 0, some.position());
            }
        } catch (IOException e) {
            // The client hung up before it had read everything.
        }
        return all.toByteArray();
    }

    /** Hangs up on all clients. */
    @Override
    public void close() {
        try {
            server.close();
            for (SocketChannel client : clients) {
                client.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
