package jnvdocker.volume.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

class PluginServerTest {
    @TempDir Path directory;
    private final TestingVolumes volumes = new TestingVolumes();
    private Path socket;
    private PluginServer server;

    @BeforeEach
    void listen() throws IOException {
        socket = directory.resolve("plugins/test.sock");
        server = PluginServer.listen(new VolumePlugin(List.of(volumes)), socket);
    }

    @AfterEach
    void close() throws IOException {
        volumes.slowMayEnd.countDown();
        server.close();
    }

    @Test
    void emptyHostIsAnswered() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            RawHttp.Answer answer = http.query("Plugin.Activate", "");
            assertEquals(200, answer.status());
            assertEquals("{\"Implements\":[\"VolumeDriver\"]}", answer.body().strip());
            assertEquals(
                    "application/vnd.docker.plugins.v1+json", answer.headers().get("content-type"));
        }
    }

    @Test
    void manyRequestsAreServed() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            for (int i = 0; i < 100; i++) {
                String name = "test_1." + i;
                assertEquals(
                        "{\"Err\":\"\"}",
                        http.query("VolumeDriver.Create", "{\"Name\":\"" + name + "\"}")
                                .body()
                                .strip());
            }
            assertEquals(
                    100, http.query("VolumeDriver.List", "{}").body().split("test_1").length / 2);
        }
    }

    @Test
    void answerEndsItsConnection() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            RawHttp.Answer answer = http.query("VolumeDriver.List", "{}");
            assertEquals("close", answer.headers().get("connection"));
            assertTrue(http.isClosed());
        }
    }

    @Test
    void questionForAVolumeThatHasLostItsNameIsNotAnswered() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            http.send(RawHttp.post("VolumeDriver.Get", ""));
            assertTrue(http.isClosed());
        }
        assertServed();
    }

    @Test
    void requestInPiecesIsOne() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            for (char piece : RawHttp.post("VolumeDriver.List", "{}").toCharArray()) {
                http.send("" + piece);
            }
            assertIsEmptyList(http.answer());
        }
    }

    @Test
    void chunkedRequestIsRead() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            http.send(
                    "POST /VolumeDriver.Create HTTP/1.1\r\nHost:\r\nAccept: "
                            + RawHttp.ACCEPT
                            + "\r\nTransfer-Encoding: chunked\r\n\r\n"
                            + "9\r\n{\"Name\": \r\nB\r\n\"test_1.2\"}\r\n0\r\n\r\n");
            assertEquals("{\"Err\":\"\"}", http.answer().body().strip());
        }
    }

    @Test
    void otherVerbIsNotFound() throws IOException {
        assertStatusAndStillServed(404, RawHttp.post("VolumeDriver.Nothing", "{}"));
        assertStatusAndStillServed(404, RawHttp.post("VolumeDriver.List/", "{}"));
        assertStatusAndStillServed(404, RawHttp.post("../VolumeDriver.List", "{}"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"GET", "PUT", "DELETE", "post", "HEADER"})
    void otherMethodIsNotFound(String method) throws IOException {
        String request = RawHttp.post("VolumeDriver.List", "{}");
        assertStatusAndStillServed(404, request.replace("POST", method));
    }

    @ParameterizedTest
    @ValueSource(strings = {"application/json", "text/html", ""})
    void otherProtocolIsNotAcceptable(String accept) throws IOException {
        String request = RawHttp.post("VolumeDriver.List", "{}");
        assertStatusAndStillServed(406, request.replace(RawHttp.ACCEPT, accept));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nonsense\r\n\r\n",
                "POST /VolumeDriver.List HTTP/1.1\r\nHost: \r\nAccept\u0001: x\r\n\r\n",
                "POST /VolumeDriver.List HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                "POST /VolumeDriver.List HTTP/1.1\r\nContent-Length: x\r\n\r\n"
            })
    void textThatIsNotHttpIsABadRequestAndEndsItsConnection(String text) throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            assertEquals(400, http.send(text).answer().status());
            assertTrue(http.isClosed());
        }
        assertServed();
    }

    @Test
    void endlessHeaderEndsItsConnection() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            assertThrows(
                    IOException.class,
                    () -> {
                        http.send("POST /VolumeDriver.List HTTP/1.1\r\nHost: ");
                        while (true) {
                            http.send("x".repeat(1000));
                        }
                    });
        }
        assertServed();
    }

    @Test
    void requestOf64KibibytesIsRead() throws IOException {
        String body = "{\"Name\":\"test_1.2\",\"x\":\"%s\"}";
        String full = body.formatted("x".repeat((64 << 10) - body.length() + 2));
        assertEquals(64 << 10, full.length());
        try (RawHttp http = new RawHttp(socket)) {
            assertEquals(200, http.query("VolumeDriver.Create", full).status());
        }
    }

    /** Any member of the group can have docker send some at a time. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "Content-Length: 65537\r\n\r\n{",
                "Content-Length: 99999999999\r\n\r\n{",
                "Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n10001\r\n"
            })
    void tooMuchIsRefusedBeforeAllOfItComesAndEndsTheConnection(String rest) throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            http.send("POST /VolumeDriver.Create HTTP/1.1\r\nHost:\r\n" + rest);
            if (rest.startsWith("Transfer")) {
                http.send("x".repeat((64 << 10) + 1));
            }
            RawHttp.Answer answer = http.answer();
            assertEquals(413, answer.status());
            // Netty itself answers a client that asks first, as docker does not.
            assertEquals(!rest.contains("Expect"), answer.body().contains("fewer options"));
            assertTrue(http.isClosed());
        }
        assertServed();
    }

    @Test
    void clientThatGoesAwayDisturbsNobody() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            http.send("POST /VolumeDriver.Create HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
        }
        try (RawHttp http = new RawHttp(socket)) {
            http.send(RawHttp.post("VolumeDriver.List", "{}"));
        }
        assertServed();
    }

    @Test
    void mistakeOfOursIsAnAnswer() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            String request = "{\"Name\":\"" + TestingVolumes.BROKEN + "\"}";
            RawHttp.Answer answer = http.query("VolumeDriver.Get", request);
            assertEquals(200, answer.status());
            assertTrue(answer.body().contains("internal error"), answer.body());
            assertFalse(answer.body().contains("secret"), answer.body());
            assertIsEmptyList(http.query("VolumeDriver.List", ""));
        }
    }

    @Test
    void slowVerbDelaysNoOtherConnection() throws Exception {
        try (RawHttp slow = new RawHttp(socket);
                RawHttp other = new RawHttp(socket)) {
            slow.send(slowRequest());
            assertTrue(volumes.slowHasBegun.await(30, TimeUnit.SECONDS));
            assertIsEmptyList(other.query("VolumeDriver.List", "{}"));
            volumes.slowMayEnd.countDown();
            assertEquals("{\"Err\":\"\"}", slow.answer().body().strip());
        }
    }

    /** An answer may take its time; a request may not. */
    @Test
    void requestThatDoesNotComeEndsItsConnection() throws Exception {
        Path other = directory.resolve("plugins/hasty.sock");
        VolumePlugin plugin = new VolumePlugin(List.of(volumes));
        try (PluginServer _ =
                        PluginServer.listen(
                                plugin, other, Duration.ofSeconds(1), VerbThreads.Limits.USUAL);
                RawHttp slow = new RawHttp(other)) {
            // Before anything else: this connection is closed as well if its request is late.
            slow.send(slowRequest());
            assertTrue(volumes.slowHasBegun.await(30, TimeUnit.SECONDS));
            try (RawHttp idle = new RawHttp(other);
                    RawHttp half = new RawHttp(other)) {
                half.send("POST /VolumeDriver.List HTTP/1.1\r\nHost: ");
                assertThrows(EOFException.class, half::answer);
                assertThrows(EOFException.class, idle::answer);
            }
            volumes.slowMayEnd.countDown();
            assertEquals("{\"Err\":\"\"}", slow.answer().body().strip());
        }
    }

    @Test
    void manyConnectionsAreServed() throws IOException {
        for (int i = 0; i < 50; i++) {
            assertServed();
        }
    }

    @Test
    void connectionsOfOneMomentAreAllTaken() throws IOException {
        List<SocketChannel> connections = new ArrayList<>();
        try {
            for (int i = 0; i < 500; i++) {
                SocketChannel connection = SocketChannel.open(StandardProtocolFamily.UNIX);
                connections.add(connection);
                // Like dockerd, which is turned away when the backlog is full.
                connection.configureBlocking(false);
                connection.connect(UnixDomainSocketAddress.of(socket));
            }
            assertServed();
        } finally {
            for (SocketChannel connection : connections) {
                connection.close();
            }
        }
    }

    @Test
    void socketIsForItsOwnerAlone() throws IOException {
        assertEquals(
                PosixFilePermissions.fromString("rw-------"),
                Files.getPosixFilePermissions(socket));
    }

    @Test
    void leftOverSocketIsReplaced() throws IOException {
        Path left = directory.resolve("left.sock");
        try (var dead = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            dead.bind(UnixDomainSocketAddress.of(left));
        }
        assertTrue(Files.exists(left));
        PluginServer.listen(new VolumePlugin(List.of(volumes)), left).close();
        assertFalse(Files.exists(left));
    }

    /** systemd does this when its unit is started while another daemon is still ending. */
    @Test
    void nameThatAnotherSocketHasByNowStays() throws IOException {
        Files.delete(socket);
        try (var other = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            other.bind(UnixDomainSocketAddress.of(socket));
            server.close();
            assertTrue(Files.exists(socket));
        }
    }

    @Test
    void socketThatSomebodyServesIsLeftAlone() throws IOException {
        assertThrows(
                IOException.class,
                () -> PluginServer.listen(new VolumePlugin(List.of(volumes)), socket));
        assertServed();
    }

    @Test
    void socketThatCannotBeMadeIsNamed() {
        Path tooLong = directory.resolve("x".repeat(120));
        var error =
                assertThrows(
                        IOException.class,
                        () -> PluginServer.listen(new VolumePlugin(List.of(volumes)), tooLong));
        assertTrue(error.getMessage().startsWith("cannot listen on " + tooLong), error.toString());
    }

    @Test
    void secondRequestOfAConnectionIsNotRead() throws Exception {
        try (RawHttp http = new RawHttp(socket)) {
            String second = RawHttp.post("VolumeDriver.Create", "{\"Name\":\"test_1.2\"}");
            http.send(RawHttp.post("VolumeDriver.List", "{}") + second);
            assertIsEmptyList(http.answer());
            assertTrue(http.isClosed());
            assertIsEmptyList(http.query("VolumeDriver.List", "{}"));
        }
    }

    @Test
    void closedServerLeavesNoSocket() throws IOException {
        server.close();
        assertFalse(Files.exists(socket));
    }

    @Test
    void errorOfTheMachineIsAnAnswerToo() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            String request = "{\"Name\":\"" + TestingVolumes.OUT_OF_ORDER + "\"}";
            assertEquals(500, http.query("VolumeDriver.Get", request).status());
            assertIsEmptyList(http.query("VolumeDriver.List", ""));
        }
    }

    private static void assertIsEmptyList(RawHttp.Answer answer) {
        assertEquals(200, answer.status());
        assertTrue(answer.body().contains("\"Volumes\":[]"), answer.body());
        assertTrue(answer.body().contains("\"Err\":\"\""), answer.body());
    }

    private static String slowRequest() {
        String body = "{\"Name\":\"" + TestingVolumes.SLOW + "\"}";
        return RawHttp.post("VolumeDriver.Create", body);
    }

    private void assertStatusAndStillServed(int status, String request) throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            assertEquals(status, http.send(request).answer().status(), request);
            assertEquals(200, http.query("VolumeDriver.List", "{}").status());
        }
    }

    private void assertServed() throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            assertEquals(200, http.query("VolumeDriver.List", "{}").status());
        }
    }
}
