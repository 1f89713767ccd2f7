package jnvdocker.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.posix.Peer;
import jnvdocker.protocol.FrameMemory;
import jnvdocker.words.FailedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

@Timeout(20)
class WebServerTest {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final WebConnection.Patience IMPATIENT =
            new WebConnection.Patience(SHORT, SHORT, SHORT, SHORT);
    private static final WebThreads.Limits LIMITS = new WebThreads.Limits(1, 1, 3, 2);

    @TempDir Path directory;
    private final FrameMemory memory = new FrameMemory(FrameMemory.Limits.STANDARD, Duration.ZERO);
    private final CountDownLatch release = new CountDownLatch(1);
    private final CountDownLatch streamEnded = new CountDownLatch(1);
    private final int port = freePort();
    private WebServer server;

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @BeforeEach
    void start() throws IOException {
        start(WebThreads.Limits.USUAL, WebConnection.Patience.USUAL);
    }

    private void start(WebThreads.Limits limits, WebConnection.Patience patience)
            throws IOException {
        if (server != null) {
            server.close();
        }
        server = WebServer.start(List.of(new HealthPage(), this::page), limits, patience);
        server.change(Optional.of(at(port))).use();
    }

    private static ListenAddress at(int port) {
        return ListenAddress.parse("127.0.0.1:" + port);
    }

    @AfterEach
    void stop() {
        release.countDown();
        server.close();
        assertEquals(0, memory.taken());
    }

    private Optional<WebAnswer> page(WebRequest request) throws IOException {
        return switch (request.path()) {
            case "/trusted" -> Optional.of(text(request.trusted() + "\n"));
            case "/query" -> Optional.of(text(request.parameter("dev").orElse("none") + "\n"));
            case "/long" -> Optional.of(text("x".repeat(5 << 20)));
            case "/failed" -> throw new FailedException("the disk is full", "delete something");
            case "/broken" -> throw new IllegalStateException("at Some.java:12");
            case "/slow" -> {
                await(release);
                yield Optional.of(text("done\n"));
            }
            case "/stream" -> Optional.of(new WebAnswer.Stream("text/event-stream", this::write));
            case "/flood" -> Optional.of(new WebAnswer.Stream(WebAnswer.TEXT, this::flood));
            case "/short" ->
                    Optional.of(new WebAnswer.Stream(WebAnswer.TEXT, out -> out.write("ü\n")));
            default -> Optional.empty();
        };
    }

    private static WebAnswer text(String text) {
        return WebAnswer.Page.of(WebAnswer.TEXT, text);
    }

    private static void await(CountDownLatch latch) throws IOException {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    private void write(Writer out) throws IOException {
        try {
            out.write("data: 1\n\n");
            out.flush();
            await(release);
        } finally {
            streamEnded.countDown();
        }
    }

    private void flood(Writer out) throws IOException {
        try {
            while (true) {
                out.write("x".repeat(1 << 16));
            }
        } finally {
            streamEnded.countDown();
        }
    }

    private SocketChannel tcp() throws IOException {
        return SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    }

    /** The daemon's own socket. */
    private SocketChannel socket() throws IOException {
        SocketAddress address =
                UnixDomainSocketAddress.of(directory.resolve("s" + System.nanoTime()));
        try (var listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            listening.bind(address);
            SocketChannel observer = SocketChannel.open(address);
            FrameMemory.Account account = memory.open(new Peer(1, 1000));
            server.take(listening.accept(), StandardCharsets.US_ASCII.encode("GET /"), account);
            return observer;
        }
    }

    private static void send(SocketChannel to, String text) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
            to.write(bytes);
        }
    }

    private static String rest(SocketChannel from) throws IOException {
        return new String(Channels.newInputStream(from).readAllBytes(), StandardCharsets.UTF_8);
    }

    private String query(String request) throws IOException {
        try (SocketChannel observer = tcp()) {
            send(observer, request);
            return rest(observer);
        }
    }

    private String get(String path) throws IOException {
        return query("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }

    private static void assertAnswer(int status, String body, String answer) {
        assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), answer);
        assertEquals(body, answer.substring(answer.indexOf("\r\n\r\n") + 4));
    }

    @Test
    void pagesAreAnsweredOverBoth() throws IOException {
        assertAnswer(200, "ok\n", get("/healthz"));
        assertAnswer(200, "false\n", get("/trusted"));
        assertAnswer(200, "0 1\n", get("/query?dev=0+1"));
        try (SocketChannel observer = socket()) {
            send(observer, "trusted HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assertAnswer(200, "true\n", rest(observer));
        }
        String whole = get("/long");
        assertEquals(5 << 20, whole.length() - whole.indexOf("\r\n\r\n") - 4);
    }

    @Test
    void answerIsForOneQuestionAndNotKept() throws IOException {
        String one = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        String answer = query(one + one);
        assertAnswer(200, "ok\n", answer);
        assertTrue(answer.contains("connection: close\r\n"));
        assertTrue(answer.contains("cache-control: no-store\r\n"));
        assertAnswer(200, "ok\n", query("GET /healthz HTTP/1.0\r\n\r\n"));
        String head = query("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assertAnswer(200, "", head);
        assertTrue(head.contains("content-length: 3\r\n"));
    }

    @Test
    void whatFailsIsSaidInALine() throws IOException {
        assertAnswer(500, "the disk is full; delete something\n", get("/failed"));
        assertAnswer(500, "internal error; see journalctl -u jnvdocker\n", get("/broken"));
        String unknown = get("/no%20such");
        assertTrue(unknown.startsWith("HTTP/1.1 404 "));
        assertTrue(unknown.contains("there is no page '/no such'; "));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"localhost", "LOCALHOST:3476", "127.0.0.1", "127.0.0.2:80", "[::1]:3476"})
    void thisHostMayBeNamed(String host) throws IOException {
        assertAnswer(200, "ok\n", query("GET /healthz HTTP/1.1\r\nHost: " + host + "\r\n\r\n"));
        assertAnswer(
                200,
                "ok\n",
                query(
                        "GET /healthz HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\n\r\n"
                                .formatted(host, host)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Host: evil.example",
                "Host: localhost.evil.example",
                "Host: evil.example:3476",
                "Host: 127.0.0.1.evil.example",
                "Host: 10.0.0.1",
                "Host: ",
                "Host: unix",
                "Host: localhost\r\nOrigin: http://evil.example",
                "Host: localhost\r\nOrigin: https://localhost",
                "Host: localhost:3476\r\nOrigin: http://localhost:8080",
                "Host: localhost\r\nOrigin: null"
            })
    void anotherSiteIsRefused(String headers) throws IOException {
        String answer = query("GET /healthz HTTP/1.1\r\n" + headers + "\r\n\r\n");
        assertTrue(answer.startsWith("HTTP/1.1 403 "), answer);
        assertFalse(answer.contains("ok"));
    }

    @Test
    void questionsOverTcpDelayNoneOfTheSocket() throws IOException {
        List<SocketChannel> slow = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            slow.add(tcp());
            send(slow.getLast(), "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
        }
        try (SocketChannel observer = socket()) {
            send(observer, "trusted HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assertAnswer(200, "true\n", rest(observer));
        }
        release.countDown();
        for (SocketChannel each : slow) {
            assertAnswer(200, "done\n", rest(each));
            each.close();
        }
    }

    @Test
    void socketHasNamesOfItsOwnAndRefusesOthers() throws IOException {
        for (String host : List.of("", "unix", "localhost")) {
            try (SocketChannel observer = socket()) {
                send(observer, "healthz HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
                assertAnswer(200, "ok\n", rest(observer));
            }
        }
        try (SocketChannel observer = socket()) {
            send(observer, "healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n");
            assertTrue(rest(observer).startsWith("HTTP/1.1 403 "));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "POST /gpu/info/json, 404",
        "PUT /v1.0/mesos/cli, 404",
        "DELETE /mesos/cli?x, 404",
        "POST /metrics, 405",
        "QUERY /healthz, 405",
        "OPTIONS /v2/gpus, 405"
    })
    void nothingCanBeChanged(String request, int status) throws IOException {
        String answer =
                query(
                        request
                                + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70000\r\n\r\n"
                                + "x".repeat(70_000));
        assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), answer);
        assertEquals(status == 405, answer.contains("allow: GET, HEAD\r\n"));
    }

    @Test
    void requestsAreBoundedAndWellFormed() throws IOException {
        Map<String, Integer> answers =
                Map.of(
                        "GET /" + "x".repeat(5000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        414,
                        "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(9000) + "\r\n\r\n",
                        431,
                        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx",
                        400,
                        "GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
                        400,
                        "GET / HTTP/1.1\r\n\r\n",
                        400,
                        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
                        400,
                        "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        400,
                        "GET /%0d%0aX HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        400,
                        "GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        400);
        for (Map.Entry<String, Integer> answer : answers.entrySet()) {
            String got = query(answer.getKey());
            assertTrue(got.startsWith("HTTP/1.1 " + answer.getValue() + " "), got);
            assertEquals(1, got.substring(got.indexOf("\r\n\r\n") + 4).lines().count(), got);
        }
        try (SocketChannel observer = tcp()) {
            // Far more than any request has: the connection ends.
            assertThrows(
                    IOException.class,
                    () -> {
                        while (true) {
                            send(observer, "x".repeat(1 << 16));
                        }
                    });
        }
    }

    @Test
    void slowAskersAreGivenUp() throws Exception {
        start(LIMITS, IMPATIENT);
        try (SocketChannel silent = tcp();
                SocketChannel dripping = tcp();
                SocketChannel ofSocket = socket()) {
            send(dripping, "GET /healthz HTTP/1.1\r\n");
            Thread drip =
                    Thread.ofVirtual()
                            .start(() -> {
                                try {
                                    for (int i = 0; true; i++) {
                                        send(dripping, "X" + i + ": x\r\n");
                                        Thread.sleep(20);
                                    }
                                } catch (IOException | InterruptedException e) {
                                    // It was closed.
                                }
                            });
            assertEquals("", rest(silent));
            assertEquals("", rest(ofSocket));
            drip.join();
        }
    }

    @Test
    void idleConnectionsKeepNobodyOut() throws IOException {
        List<SocketChannel> idle = new ArrayList<>();
        try {
            for (int i = 0; i < 1000; i++) {
                idle.add(tcp());
            }
            assertAnswer(200, "ok\n", get("/healthz"));
            assertEquals("", rest(idle.getFirst()));
            send(idle.getLast(), "GET /healthz HTTP/1.0\r\n\r\n");
            assertAnswer(200, "ok\n", rest(idle.getLast()));
        } finally {
            for (SocketChannel each : idle) {
                each.close();
            }
        }
    }

    @Test
    void pageThatTakesTooLongAndThoseBeyondTheRoomAreRefused() throws IOException {
        start(LIMITS, IMPATIENT);
        try (SocketChannel one = tcp();
                SocketChannel other = tcp()) {
            String slow = "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n";
            send(one, slow);
            assertAnswer(503, "timed out; see journalctl -u jnvdocker\n", rest(one));
            send(other, slow);
            assertAnswer(503, "too many requests at once; try again in a moment\n", many(slow));
        }
    }

    /** One waits for the page, and there is no room for another. */
    private String many(String slow) throws IOException {
        String answer = "";
        while (!answer.contains("too many")) {
            answer = query(slow);
        }
        return answer;
    }

    @Test
    void streamArrivesAndEndsWithItsAsker() throws Exception {
        try (SocketChannel observer = socket()) {
            send(observer, "stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assertEquals("data: 1", lineAfter(observer, "data"));
        }
        assertTrue(streamEnded.await(10, TimeUnit.SECONDS));
        assertAnswer(200, "3\r\nü\n\r\n0\r\n\r\n", get("/short"));
        assertAnswer(200, "ü\n", query("GET /short HTTP/1.0\r\n\r\n"));
    }

    private static String lineAfter(SocketChannel from, String beginning) {
        return new BufferedReader(Channels.newReader(from, StandardCharsets.UTF_8))
                .lines()
                .filter(line -> line.startsWith(beginning))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void streamsEndWhenTheDaemonStopsAndAreLimitedByUser() throws Exception {
        start(LIMITS, WebConnection.Patience.USUAL);
        try (SocketChannel one = tcp();
                SocketChannel two = tcp();
                SocketChannel other = socket()) {
            String request = "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n";
            send(one, request);
            lineAfter(one, "data");
            send(two, request);
            lineAfter(two, "data");
            assertTrue(query(request).startsWith("HTTP/1.1 503 "));
            send(other, "stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
            lineAfter(other, "data");
            server.close();
            assertTrue(streamEnded.await(10, TimeUnit.SECONDS));
        }
    }

    @Test
    void clientThatDoesNotReadAStreamIsGivenUp() throws Exception {
        start(LIMITS, IMPATIENT);
        try (SocketChannel observer = tcp()) {
            send(observer, "GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assertTrue(streamEnded.await(10, TimeUnit.SECONDS));
        }
    }

    @Test
    void anotherAddressIsListenedOnOnlyWhenItCanBe() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            int other = taken.getLocalPort();
            var refused =
                    assertThrows(
                            FailedException.class, () -> server.change(Optional.of(at(other))));
            assertTrue(
                    refused.getMessage()
                            .startsWith(
                                    "cannot listen on 127.0.0.1:"
                                            + other
                                            + " (Address already in use); "),
                    refused.getMessage());
        }
        int next = freePort();
        server.change(Optional.of(at(next))).close();
        assertAnswer(200, "ok\n", get("/healthz"));
        server.change(Optional.of(at(next))).use();
        assertThrows(IOException.class, () -> get("/healthz"));
        server.change(Optional.of(at(port))).use();
        server.change(Optional.of(at(port))).use();
        assertAnswer(200, "ok\n", get("/healthz"));
        server.change(Optional.empty()).use();
        assertThrows(IOException.class, () -> get("/healthz"));
    }
}
