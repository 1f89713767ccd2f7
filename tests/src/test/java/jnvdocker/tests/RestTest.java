package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.rest.OpenApi;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Http;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.LoopbackPort;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.web.WebAnswer;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;

/** The REST pages of a daemon, over TCP and on its socket. */
@Tag("root")
class RestTest {
    private static final InetSocketAddress TCP = LoopbackPort.free();
    private static final Set<String> NAMELESS =
            Set.of("/v2/gpus", "/v2/chart", "/v2/utilization", "/v2/host");
    private static final String EVENTS = "/v2/events";
    private static DriverRoot host;
    private static TestDaemon daemon;

    @BeforeAll
    static void start() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 2);
        FakeNvml.of(host, "a100x8");
        daemon = new TestDaemon(host).with("JNVDOCKER_LISTEN", "127.0.0.1:" + TCP.getPort());
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    @AfterAll
    static void stop() {
        daemon.close();
        host.close();
    }

    private static UnixDomainSocketAddress socket() {
        return UnixDomainSocketAddress.of(daemon.socket());
    }

    @Test
    void everyPageThatIsDescribedIsAnswered() throws Exception {
        try (HttpClient client =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
            for (String path : OpenApi.paths()) {
                URI address = URI.create("http://localhost:" + TCP.getPort() + path);
                HttpResponse<String> answer =
                        client.send(
                                HttpRequest.newBuilder(address).build(),
                                HttpResponse.BodyHandlers.ofString());
                boolean names = path.startsWith("/v2/") && !NAMELESS.contains(path);
                assertEquals(names ? 403 : 200, answer.statusCode(), path);
                String type = answer.headers().firstValue("content-type").orElseThrow();
                OpenApi.check(path, answer.statusCode(), type, answer.body());
            }
        }
    }

    @Test
    void documentsOnTheSocketAreThoseOfTheCommands() throws Exception {
        for (String path : OpenApi.paths()) {
            if (path.startsWith("/v2/") && !Set.of(EVENTS, "/v2/why").contains(path)) {
                Http.Answer answer = Http.get(socket(), path);
                assertEquals(200, answer.status(), path);
                OpenApi.check(path, 200, WebAnswer.JSON, answer.body());
            }
        }
        String gpu =
                new ObjectMapper()
                        .readTree(Http.get(socket(), "/v2/gpus").body())
                        .path(0)
                        .path("uuid")
                        .asText();
        OpenApi.check(
                "/v2/why", 200, WebAnswer.JSON, Http.get(socket(), "/v2/why?gpu=" + gpu).body());
        assertEquals(404, Http.get(socket(), "/v2/why?gpu=GPU-0").status());
        assertEquals(400, Http.get(socket(), "/v2/chart?hours=x").status());
        assertEquals(400, Http.get(socket(), "/v2/history?by=color").status());
        ObjectMapper json = new ObjectMapper();
        assertEquals(
                daemon.jnvdocker("gpu", "leases", "--json").run().ok().json(),
                json.readTree(Http.get(socket(), "/v2/leases").body()));
    }

    @Test
    void otherMethodsAreNotFound() {
        Http.Answer post =
                Http.query(TCP, "POST /v1.0/gpu/info/json HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assertEquals(404, post.status(), post::body);
    }

    private record Event(String id, String name, String data) {}

    /** Reads server-sent events, whose order among leases and GPUs is not fixed. */
    private static final class Events implements AutoCloseable {
        private final SocketChannel channel;
        private final List<Event> seen = new CopyOnWriteArrayList<>();

        Events(String header) throws IOException {
            channel = SocketChannel.open(socket());
            Http.send(
                    channel,
                    "GET " + EVENTS + " HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n");
            Thread.ofVirtual().start(this::read);
        }

        private void read() {
            String id = "";
            String name = "";
            try (BufferedReader lines =
                    new BufferedReader(Channels.newReader(channel, StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    if (line.startsWith("id: ")) {
                        id = line.substring("id: ".length());
                    } else if (line.startsWith("event: ")) {
                        name = line.substring("event: ".length());
                    } else if (line.startsWith("data: ")) {
                        seen.add(new Event(id, name, line.substring("data: ".length())));
                    }
                }
            } catch (IOException | UncheckedIOException e) {
                seen.add(new Event("", "end", e.toString()));
            }
        }

        /** Waits until an event has come with data like that, and returns its id. */
        String await(String name, Predicate<String> data) {
            Predicate<Event> wanted = event -> event.name().equals(name) && data.test(event.data());
            Lab.await(() ->
                    seen.stream().anyMatch(wanted)
                            ? List.of()
                            : List.of("no such " + name + " among " + seen));
            return seen.stream().filter(wanted).findFirst().orElseThrow().id();
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    @Test
    void streamTellsOfLeasesGpusAndRefusals() throws Exception {
        String granted;
        try (Events events = new Events("")) {
            events.await("state", data -> data.startsWith("{\"gpus\":[{\"index\":0,"));
            Process held =
                    daemon.jnvdocker("gpu", "run", "--gpus", "device=1", "--", "sleep", "100")
                            .start();
            granted = events.await("granted", data -> data.contains("\"command\":\"sleep\""));
            events.await(
                    "gpu", data -> data.startsWith("{\"index\":1,") && data.contains("\"held\""));
            daemon.jnvdocker("gpu", "run", "--gpus", "device=1", "--", "true").run();
            events.await("refused", data -> data.contains("\"reason\":\"taken\""));
            held.destroy();
            events.await("released", data -> data.contains("\"state\":\"ended\""));
            events.await("gpu", data -> data.contains("\"state\":\"free\""));
        }
        try (Events again = new Events("Last-Event-ID: " + granted + "\r\n")) {
            again.await("released", data -> data.contains("\"state\":\"ended\""));
        }
    }
}
