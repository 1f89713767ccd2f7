package jnvdocker.proxy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.posix.Posix;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

class ProxyServerTest {
    private static final String OK = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";

    @TempDir private Path directory;

    private ServerSocketChannel engine;
    private ProxyServer proxy;

    /** What the engine has seen. */
    private final BlockingQueue<String> seen = new LinkedBlockingQueue<>();

    /** What the engine does with each connection. */
    private interface Handler {
        void handle(SocketChannel channel, InputStream in, OutputStream out) throws IOException;
    }

    private Path socket() {
        return directory.resolve("run/docker.sock");
    }

    @BeforeEach
    void start() throws IOException {
        Path behind = directory.resolve("engine.sock");
        engine = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        engine.bind(UnixDomainSocketAddress.of(behind));
        proxy =
                ProxyServer.listen(
                        socket(), "", new ProxyServer.Ends(behind, directory.resolve("jnvdocker")));
    }

    @AfterEach
    void stop() throws IOException {
        proxy.close();
        engine.close();
        assertEquals(false, Files.exists(socket()));
    }

    private void engine(Handler handler) {
        Thread.ofVirtual()
                .start(() -> {
                    try (SocketChannel channel = engine.accept()) {
                        handler.handle(
                                channel,
                                Channels.newInputStream(channel),
                                Channels.newOutputStream(channel));
                    } catch (IOException e) {
                        seen.add("failed: " + e.getMessage());
                    }
                });
    }

    private SocketChannel connect() throws IOException {
        return SocketChannel.open(UnixDomainSocketAddress.of(socket()));
    }

    private static void send(SocketChannel channel, String text) throws IOException {
        Channels.newOutputStream(channel).write(bytes(text));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private static String rest(SocketChannel channel) throws IOException {
        return text(Channels.newInputStream(channel).readAllBytes());
    }

    private String exchange(String request) throws IOException {
        try (SocketChannel client = connect()) {
            send(client, request);
            return rest(client);
        }
    }

    private static String head(InputStream in) throws IOException {
        ByteArrayOutputStream head = new ByteArrayOutputStream();
        while (!text(head.toByteArray()).endsWith("\r\n\r\n")) {
            int next = in.read();
            if (next < 0) {
                throw new EOFException(head.toString(StandardCharsets.ISO_8859_1));
            }
            head.write(next);
        }
        return text(head.toByteArray());
    }

    private String seen() throws InterruptedException {
        String text = seen.poll(30, TimeUnit.SECONDS);
        return text == null ? "nothing" : text;
    }

    @Test
    void secondRequestOfAConnectionIsNone() throws IOException, InterruptedException {
        engine((_, in, out) -> {
            seen.add(head(in));
            out.write(bytes(OK + "one"));
        });
        String second = "POST /containers/create HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        assertEquals(
                OK + "one", exchange("GET /a HTTP/1.1\r\nConnection: keep-alive\r\n\r\n" + second));
        assertEquals("GET /a HTTP/1.1\r\nConnection: close\r\n\r\n", seen());
        assertTrue(seen.isEmpty(), seen::toString);
    }

    @Test
    void containerGetsTheLabelOfItsUser() throws IOException, InterruptedException {
        engine((_, in, out) -> {
            String head = head(in);
            int length = Integer.parseInt(head.replaceAll("(?s).*Content-Length: (\\d+).*", "$1"));
            seen.add(head + text(in.readNBytes(length)));
            out.write(bytes(OK));
        });
        try (SocketChannel client = connect()) {
            send(
                    client,
                    "POST /v1.41/containers/create?name=x HTTP/1.1\r\nHost: docker\r\n"
                            + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
            String go = "HTTP/1.1 100 Continue\r\n\r\n";
            assertEquals(go, text(Channels.newInputStream(client).readNBytes(go.length())));
            send(client, "c;x=y\r\n{\"Labels\":{\"\r\n3\r\na\":\r\n5\r\n\"b\"}}\r\n");
            send(client, "0\r\nX: y\r\n\r\n");
            assertEquals(OK, rest(client));
        }
        String body =
                "{\"Labels\":{\"a\":\"b\",\"jnvdocker.owner\":\"uid:"
                        + Posix.effectiveUser()
                        + "\"}}";
        assertEquals(
                "POST /v1.41/containers/create?name=x HTTP/1.1\r\nHost: docker\r\nContent-Length: "
                        + body.length()
                        + "\r\nConnection: close\r\n\r\n"
                        + body,
                seen());
    }

    @Test
    void endOfOneDirectionLeavesTheOther() throws IOException {
        String switched = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
        engine((_, in, out) -> {
            seen.add(head(in));
            out.write(bytes(switched));
            // Docker ends a container's input here, and its output follows.
            out.write(bytes("<" + text(in.readAllBytes()) + ">"));
        });
        try (SocketChannel client = connect()) {
            send(
                    client,
                    "POST /containers/a/attach HTTP/1.1\r\nConnection: Upgrade\r\n"
                            + "Upgrade: tcp\r\n\r\nto ");
            assertEquals(
                    switched, text(Channels.newInputStream(client).readNBytes(switched.length())));
            send(client, "stdin");
            client.shutdownOutput();
            assertEquals("<to stdin>", rest(client));
        }
    }

    @Test
    void largeBodiesAreUnchanged() throws IOException {
        byte[] data = new byte[5_000_000];
        new Random(1).nextBytes(data);
        engine((_, in, out) -> {
            head(in);
            byte[] read = in.readNBytes(data.length);
            out.write(bytes(OK));
            out.write(read);
        });
        try (SocketChannel client = connect()) {
            send(
                    client,
                    "POST /images/load HTTP/1.1\r\nContent-Length: " + data.length + "\r\n\r\n");
            Channels.newOutputStream(client).write(data);
            InputStream in = Channels.newInputStream(client);
            assertEquals(OK, text(in.readNBytes(OK.length())));
            assertArrayEquals(data, in.readAllBytes());
        }
    }

    /** The engine may close a connection that it has not read. */
    @Test
    void earlyAnswerIsNotLost() throws IOException {
        engine((_, in, out) -> {
            head(in);
            out.write(bytes(OK + "too large"));
        });
        String body = "x".repeat(3_000_000);
        assertEquals(
                OK + "too large",
                exchange("POST /build HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n" + body));
    }

    @Test
    void engineNoticesThatTheClientHasGone() throws IOException, InterruptedException {
        engine((_, in, _) -> {
            seen.add(head(in));
            seen.add("ended with " + in.read());
        });
        try (SocketChannel client = connect()) {
            send(client, "GET /events HTTP/1.1\r\n\r\n");
            assertTrue(seen().startsWith("GET /events"));
        }
        assertEquals("ended with -1", seen());
        engine((_, in, out) -> {
            head(in);
            while (true) {
                out.write(bytes("a line of a log\n"));
            }
        });
        try (SocketChannel client = connect()) {
            send(client, "GET /containers/a/logs HTTP/1.1\r\n\r\n");
            Channels.newInputStream(client).readNBytes(1000);
        }
        assertTrue(seen().startsWith("failed"));
    }

    @Test
    void refusalHasTheFormOfTheEnginesErrors() throws IOException {
        assertEquals(
                "HTTP/1.1 400 Bad Request\r\n"
                    + "Content-Type: application/json\r\n"
                    + "Connection: close\r\n"
                    + "Content-Length: 121\r\n\r\n"
                    + "{\"message\":\"jnvdocker: the length of the request's body is not clear; use"
                    + " a client of Docker's API over HTTP/1.1\"}\n",
                exchange("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n")
                        .replaceAll("Length: 1..", "Length: 121"));
        String refused =
                exchange("POST /containers/create HTTP/1.1\r\nContent-Length: 3\r\n\r\n[1]");
        assertTrue(refused.contains("is not the JSON of a container: it is no object;"), refused);
        String long1 = "POST /containers/create HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n";
        refused = exchange(long1 + "{".repeat(5_000_000));
        assertTrue(refused.startsWith("HTTP/1.1 413 Content Too Large\r\n"), refused);
        for (String chunks :
                new String[] {"x\r\n", "-1\r\n", "1\r\n{}\r\n", "\r\n", "fffffffff\r\n"}) {
            refused =
                    exchange(
                            "POST /containers/create HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    + chunks);
            assertTrue(refused.startsWith("HTTP/1.1 400 Bad Request\r\n"), refused);
        }
    }

    @Test
    void engineThatIsAwayIsNamed() throws IOException {
        engine.close();
        String refused = exchange("GET /_ping HTTP/1.1\r\n\r\n");
        assertTrue(refused.startsWith("HTTP/1.1 503 Service Unavailable\r\n"), refused);
        String socket = directory.resolve("engine.sock").toString();
        String message =
                "{\"message\":\"jnvdocker: cannot reach Docker's engine at "
                        + socket
                        + " (Connection refused); start it (systemctl start docker), then try"
                        + " again\"}\n";
        assertTrue(refused.endsWith(message), refused);
        Files.delete(directory.resolve("engine.sock"));
        refused = exchange("GET /_ping HTTP/1.1\r\n\r\n");
        assertTrue(refused.contains(socket + " (No such file or directory); start it"), refused);
    }

    @Test
    void connectionWithoutARequestIsNoError() throws IOException {
        connect().close();
        try (SocketChannel client = connect()) {
            client.shutdownOutput();
            assertEquals("", rest(client));
        }
    }
}
