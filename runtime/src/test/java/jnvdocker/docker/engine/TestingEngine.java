package jnvdocker.docker.engine;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.StandardProtocolFamily;
import java.net.URLDecoder;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;

/**
 * Speaks HTTP on a Unix socket as dockerd does, with the answers that the test sets. Like dockerd,
 * it answers a path with the version of the API that it speaks, or without any.
 */
final class TestingEngine implements AutoCloseable {
    private final Path socket;
    private final List<String> requests = new CopyOnWriteArrayList<>();
    private final List<SocketChannel> connections = new CopyOnWriteArrayList<>();
    private final Map<String, String> answers = new ConcurrentHashMap<>();
    private volatile String version = "1.41";
    private volatile boolean mute;
    private volatile Duration delay = Duration.ZERO;
    private volatile String hanging = "";
    private volatile String events = "";
    private final Semaphore givenUp = new Semaphore(0);
    private ServerSocketChannel server;

    private TestingEngine(Path socket) {
        this.socket = socket;
        answers("/version", 200, "{}");
    }

    static TestingEngine start(Path socket) throws IOException {
        TestingEngine engine = new TestingEngine(socket);
        engine.listen();
        return engine;
    }

    /** Sets the answer to a path, spelled without the version. */
    TestingEngine answers(String path, int status, String json) {
        String head =
                "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n";
        return answersRaw(path, head.formatted(status, json.length()) + json);
    }

    TestingEngine answersRaw(String path, String response) {
        answers.put(path, response);
        return this;
    }

    /** Speaks this version alone from now on, also on connections that are open already. */
    TestingEngine speaks(String version) {
        this.version = version;
        return this;
    }

    /** Delays each answer by that time from now on. */
    void answersLate(Duration late) {
        delay = late;
    }

    /** Closes each connection after a request from now on. */
    void goMute() {
        mute = true;
    }

    /** From now on, publishes these events and no others. */
    TestingEngine happened(String json) {
        events = json;
        return this;
    }

    /** Leaves a path, spelled without the version, without an answer from now on. */
    void hangs(String path) {
        hanging = path;
    }

    /** Has one permit for each connection that the client closed before it had an answer. */
    Semaphore givenUp() {
        return givenUp;
    }

    /** Ends all connections, like a restart of dockerd. */
    void restart() throws IOException {
        close();
        listen();
    }

    /** The request lines in the order in which they came, such as {@code GET /_ping}. */
    List<String> requests() {
        return requests;
    }

    @Override
    public void close() throws IOException {
        server.close();
        Files.deleteIfExists(socket);
        for (SocketChannel connection : connections) {
            connection.close();
        }
        connections.clear();
    }

    private void listen() throws IOException {
        server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(socket));
        ServerSocketChannel listening = server;
        Thread.ofVirtual().start(() -> accept(listening));
    }

    private void accept(ServerSocketChannel listening) {
        while (true) {
            try {
                SocketChannel connection = listening.accept();
                connections.add(connection);
                Thread.ofVirtual().start(() -> serve(connection));
            } catch (IOException e) {
                return; // closed
            }
        }
    }

    private void serve(SocketChannel connection) {
        try (connection) {
            InputStream in = new BufferedInputStream(Channels.newInputStream(connection));
            while (true) {
                String request = line(in);
                while (!line(in).isEmpty()) {
                    // The headers do not matter.
                }
                requests.add(request.replace(" HTTP/1.1", ""));
                if (mute) {
                    return;
                }
                Thread.sleep(delay);
                String path = URLDecoder.decode(request.split(" ")[1], StandardCharsets.UTF_8);
                String plain = path.replaceFirst("^/v[0-9.]+", "");
                if (plain.startsWith("/events?") && !events.isEmpty()) {
                    write(
                            connection,
                            "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n\r\n" + events);
                }
                if (plain.equals(hanging) || plain.startsWith("/events?") && !events.isEmpty()) {
                    if (in.read() < 0) {
                        givenUp.release();
                    }
                    return;
                }
                String response = answer(path);
                write(connection, response);
                if (!response.contains("Content-Length")) {
                    return;
                }
            }
        } catch (IOException e) {
            // The other end, or the test, has closed it.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void write(SocketChannel connection, String text) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
            connection.write(bytes);
        }
    }

    private String answer(String path) {
        if (path.equals("/_ping")) {
            return answers.getOrDefault(
                    path,
                    "HTTP/1.1 200 OK\r\nApi-Version: "
                            + version
                            + "\r\nContent-Length: 2\r\n\r\nOK");
        }
        if (path.matches("/v[0-9.]+/.*") && !path.startsWith("/v" + version + "/")) {
            return response(
                    400, "client version 1.41 is too old. Minimum supported API version is 1.44");
        }
        String plain = path.replaceFirst("^/v[0-9.]+", "");
        return answers.getOrDefault(plain, response(404, "No such image: " + plain));
    }

    private static String response(int status, String message) {
        String json = "{\"message\":\"" + message + "\"}\n";
        return "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                .formatted(status, json.length(), json);
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new IOException("closed");
            }
            line.append((char) next);
        }
        return line.toString().strip();
    }
}
