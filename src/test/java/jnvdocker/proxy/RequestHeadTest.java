package jnvdocker.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.posix.Peer;
import jnvdocker.protocol.FrameMemory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;

class RequestHeadTest {
    private static RequestHead read(String text) throws IOException {
        var in = new ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1));
        var memory = new FrameMemory(FrameMemory.Limits.STANDARD, Duration.ofSeconds(1));
        try (FrameMemory.Account account = memory.open(new Peer(1, 1001))) {
            return RequestHead.read(in.read(), in, account);
        }
    }

    private static String forwarded(String text) throws IOException {
        return new String(read(text).forwarded(), StandardCharsets.ISO_8859_1);
    }

    private static RequestHead post(String target) throws IOException {
        return read("POST " + target + " HTTP/1.1\r\nHost: \r\n\r\n");
    }

    @Test
    void allButTheConnectionIsTheClients() throws IOException {
        assertEquals(
                "GET /v1.41/a%20b?x=%C3%A4 HTTP/1.1\r\nHost:\r\nX-y:  a \u00e4 \r\n"
                        + "connection-x: 1\r\nConnection: close\r\n\r\n",
                forwarded(
                        "GET /v1.41/a%20b?x=%C3%A4 HTTP/1.1\r\nHost:\r\nX-y:  a \u00e4 \r\n"
                                + "CONNECTION: keep-alive, x\r\nconnection-x: 1\r\n"
                                + "keep-alive: 5\r\nProxy-Connection: keep-alive\r\n"
                                + "Connection:\r\nUpgrade: h2c\r\n\r\n"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/v1.41/containers/a/b/attach?stream=1",
                "/containers/a/attach/ws",
                "/exec/0a/start",
                "/v1.41/session",
                "/grpc",
                "/v1.41/build?t=x"
            })
    void streamKeepsItsUpgrade(String target) throws IOException {
        assertEquals(
                "POST "
                        + target
                        + " HTTP/1.1\r\nUpgrade: tcp\r\nConnection: Upgrade, close\r\n\r\n",
                forwarded(
                        "POST "
                                + target
                                + " HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"));
        assertTrue(
                forwarded("POST " + target + " HTTP/1.0\r\n\r\n")
                        .endsWith("HTTP/1.0\r\nConnection: close\r\n\r\n"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/containers/create",
                "/containers/create?name=a/b?c",
                "/v1.41/containers/create",
                "/v1.41//containers/./create/",
                "//containers/create",
                "/x/../containers/%63reate",
                "/containers%2Fcreate",
                "/containers/x/%2e%2E/create",
                "http://x:1/containers/create",
                "http://u@x/v1.41/containers/create",
                "x:/containers/create",
                "http://x//containers//create",
            })
    void createIsOneHoweverItIsWritten(String target) throws IOException {
        assertEquals(Optional.of(OwnerLabel.Place.OF_CONTAINER), post(target).creates());
        assertEquals(Optional.empty(), read("GET " + target + " HTTP/1.1\r\n\r\n").creates());
    }

    @ParameterizedTest
    @CsvSource({
        "/containers/train-7/start, train-7",
        "/v1.41/containers/0a1b/restart?t=5, 0a1b",
        "/containers//a.b_c/./st%61rt, a.b_c",
        "/containers/a/b/start,",
        "/containers/../start,",
        "/containers/-a/start,",
        "/containers/a/stop,",
        "/vx/containers/a/start,",
        "/exec/0a/start,"
    })
    void startNamesItsContainer(String target, String container) throws IOException {
        assertEquals(Optional.ofNullable(container), post(target).starts());
        assertEquals(Optional.empty(), read("GET " + target + " HTTP/1.1\r\n\r\n").starts());
    }

    @ParameterizedTest
    @CsvSource({
        "/containers/train-7/start, /containers/0a/start",
        "/v1.41//containers/./train%2d7/restart?t=5, /v1.41/containers/0a/restart?t=5",
        "http://h/containers/a/start?x=?, /containers/0a/start?x=?"
    })
    void startIsGivenTheId(String target, String changed) throws IOException {
        assertEquals(changed, post(target).withContainer("0a").target());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/services/create",
                "/v1.41/services/create",
                "/services/ab/update?version=1",
                "/services/a%2fb/update"
            })
    void serviceIsOne(String target) throws IOException {
        assertEquals(Optional.of(OwnerLabel.Place.OF_SERVICE), post(target).creates());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/containers/createx",
                "/containers/json",
                "/a/containers/create",
                "/containers/create/x",
                "/volumes/create",
                "/services",
                "/containers/a/update",
                "*",
                "/?/containers/create"
            })
    void othersAreNone(String target) throws IOException {
        assertEquals(Optional.empty(), post(target).creates());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\r\n\r\n",
                "GET / HTTP/1.1",
                "GET / HTTP/1.1\r\nA: b\r\n",
                "GET /\r\n\r\n",
                "GET  / HTTP/1.1\r\n\r\n",
                "GET / x HTTP/1.1\r\n\r\n",
                "GET / HTTP/2.0\r\n\r\n",
                "GET / HTTP/1.2\r\n\r\n",
                "GET / http/1.1\r\n\r\n",
                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                "PRI * HTTP/1.1\r\n\r\n",
                "GET /\t HTTP/1.1\r\n\r\n",
                "GET /%zz HTTP/1.1\r\n\r\n",
                "GET /%4 HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\n\n",
                "GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
                "GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n",
                "GET / HTTP/1.1\r\r\nA: b\r\n\r\n",
                "GET / HTTP/1.1\r\nA: b\u0000\r\n\r\n",
                "GET / HTTP/1.1\r\nA : b\r\n\r\n",
                "GET / HTTP/1.1\r\n A: b\r\n\r\n",
                "GET / HTTP/1.1\r\nA: b\r\n\tc\r\n\r\n",
                "GET / HTTP/1.1\r\nA\r\n\r\n",
                "GET / HTTP/1.1\r\n: b\r\n\r\n",
                "GET / HTTP/1.1\r\n\u00e4: b\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
                "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length:\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 9999999999999999999\r\n\r\n",
            })
    void unclearHeadIsRefused(String text) {
        var refusal = assertThrows(RequestRefusal.class, () -> read(text));
        assertEquals(RequestRefusal.BAD_REQUEST, refusal.status());
    }

    @ParameterizedTest
    @CsvSource({"1048500, false", "1048600, true"})
    void headHasALimit(int length, boolean refused) throws IOException {
        String text = "GET / HTTP/1.1\r\nA: " + " ".repeat(length) + "b\r\n\r\n";
        if (refused) {
            var refusal = assertThrows(RequestRefusal.class, () -> read(text));
            assertEquals(RequestRefusal.HEAD_TOO_LARGE, refusal.status());
        } else {
            assertEquals(
                    text.length() + "Connection: close\r\n".length(), forwarded(text).length());
        }
    }

    @Test
    void anotherBodyIsSentAsAWhole() throws IOException {
        RequestHead head =
                read(
                        "POST /containers/create HTTP/1.1\r\n"
                                + "Host: x\r\n"
                                + "Transfer-Encoding: Chunked\r\n"
                                + "Expect: 100-continue\r\n"
                                + "Trailer: X\r\n\r\n");
        assertTrue(head.isHttp11());
        assertFalse(head.withLength(7).values("Expect").findAny().isPresent());
        assertEquals(
                "POST /containers/create HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n"
                        + "Connection: close\r\n\r\n",
                new String(head.withLength(7).forwarded(), StandardCharsets.US_ASCII));
    }
}
