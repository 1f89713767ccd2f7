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

/** Listens where the client looks for the daemon, and treats everyone who comes in the same way. */
public final class HostileDaemon implements AutoCloseable {
    private static final int PATIENCE_SECONDS = 30;

    private final ServerSocketChannel server;
    private final Script script;
    private final Queue<SocketChannel> clients = new ConcurrentLinkedQueue<>();
    private final CompletableFuture<byte[]> heard = new CompletableFuture<>();
    private final CountDownLatch visited = new CountDownLatch(1);

    /** What happens to a connection, which is closed afterwards. */
    public interface Script {
        /** Returns what the client said. */
        byte[] play(SocketChannel client) throws IOException, InterruptedException;

        /** Says this at once, whatever the client says, and then hears it to its end. */
        static Script saying(byte[] bytes) {
            return inPieces(bytes, Math.max(1, bytes.length));
        }

        /** The same, with so many bytes at a time. */
        static Script inPieces(byte[] bytes, int length) {
            return client -> {
                Thread.startVirtualThread(() -> say(client, bytes, length));
                return rest(client);
            };
        }

        /** Hears what is asked, and answers that. */
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

        /** Treats the first one so. What the others say is heard, to its end and without a word. */
        static Script once(Script first) {
            AtomicBoolean visited = new AtomicBoolean();
            return client -> visited.getAndSet(true) ? rest(client) : first.play(client);
        }

        /** Hears so much of the request, or all there is, and says nothing. */
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

    /** What the first client said, all of it. */
    public byte[] heard() {
        return heard.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
    }

    /** Waits until a client is there. */
    public void awaitVisitor() throws InterruptedException {
        visited.await();
    }

    private void serve() {
        while (true) {
            try (SocketChannel client = server.accept()) {
                clients.add(client);
                visited.countDown();
                heard.complete(script.play(client));
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
            // The client has heard enough.
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
            // It went without having read all that was said.
        }
        return all.toByteArray();
    }

    /** Hangs up on everybody. */
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
