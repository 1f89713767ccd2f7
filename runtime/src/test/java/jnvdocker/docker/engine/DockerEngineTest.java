package jnvdocker.docker.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.labels.ImageConfig;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;

class DockerEngineTest {
    private static final String CUDA = "/images/cuda/json";
    private static final String IMAGE =
            """
            {"Id": "sha256:1", "Config": {"Env": ["PATH=/bin", "A=b=c"], "Labels": {"jnvdocker.owner": "y"}}}
            """;

    @TempDir Path directory;
    private TestingEngine dockerd;
    private DockerEngine engine;

    @BeforeEach
    void start() throws IOException {
        dockerd = TestingEngine.start(directory.resolve("docker.sock")).answers(CUDA, 200, IMAGE);
        engine =
                new DockerEngine(
                        directory.resolve("docker.sock"),
                        directory.resolve("proxy.sock"),
                        _ -> false);
    }

    @AfterEach
    void stop() throws IOException {
        engine.close();
        dockerd.close();
    }

    @Test
    void imageIsItsLabelsAndItsEnvironment() throws IOException {
        ImageConfig image = engine.image("cuda").orElseThrow();
        assertEquals(Map.of("jnvdocker.owner", "y"), image.labels());
        assertEquals(Map.of("PATH", "/bin", "A", "b=c"), image.environment());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"Config\": null}",
                "{\"Config\": {}}",
                "{\"Config\": {\"Env\": null, \"Labels\": null}}",
            })
    void imageThatSaysNothingIsEmpty(String json) throws IOException {
        dockerd.answers(CUDA, 200, json);
        assertEquals(Optional.of(ImageConfig.of(Map.of(), List.of())), engine.image("cuda"));
    }

    @Test
    void containersWithVolumesOfAPluginAreListedWithThoseAlone() throws IOException {
        dockerd.answers(
                "/containers/json?all=true",
                200,
                """
                [{"Id": "1", "Names": ["/plain"], "State": "running", "Mounts": null},
                 {"Id": "2", "Names": ["/other"], "State": "running",
                  "Mounts": [{"Name": "data", "Driver": "local"}, {"Source": "/home"}]},
                 {"Id": "3", "Names": ["/ours"], "State": "exited", "Mounts":
                  [{"Name": "data", "Driver": "local"}, {"Name": "x_1.0", "Driver": "nvidia"}]}]
                """);
        List<ContainerEngine.Listed> listed =
                engine.objects().withVolumesOf("nvidia", Duration.ofSeconds(20));
        assertEquals(List.of("ours"), listed.stream().map(ContainerEngine.Listed::name).toList());
        assertEquals(List.of("x_1.0"), listed.getFirst().volumes());
        assertFalse(listed.getFirst().isActive());
    }

    @Test
    void volumesOfAPluginAreListed() throws IOException {
        String path = "/volumes?filters={\"driver\":[\"nvidia\"]}";
        dockerd.answers(path, 200, "{\"Volumes\": null}");
        assertEquals(List.of(), engine.objects().volumesOf("nvidia", Duration.ofSeconds(20)));
        dockerd.answers(path, 200, "{\"Volumes\": [{\"Name\": \"x_1.0\"}]}");
        assertEquals(
                List.of("x_1.0"), engine.objects().volumesOf("nvidia", Duration.ofSeconds(20)));
    }

    @Test
    void containerThatRunsIsNotRemovedAndOneThatIsGoneIs() throws IOException {
        dockerd.answers("/containers/1", 204, "")
                .answers("/containers/2", 409, "{\"message\": \"it runs\"}");
        engine.objects().removeContainer("1", Duration.ofSeconds(20));
        engine.objects().removeContainer("gone", Duration.ofSeconds(20));
        EngineException refusal =
                assertThrows(
                        EngineException.class,
                        () -> engine.objects().removeContainer("2", Duration.ofSeconds(20)));
        assertTrue(refusal.getMessage().contains("it runs"), refusal.getMessage());
    }

    @Test
    void imageThatIsNotThereIsNone() throws IOException {
        assertEquals(Optional.empty(), engine.image("other"));
    }

    @ParameterizedTest
    @CsvSource({
        "cuda:12.4, cuda:12.4",
        "localhost:5000/lab/cuda, localhost:5000/lab/cuda",
        "cuda@sha256:0123abcd, cuda@sha256:0123abcd",
    })
    void namesArriveAsTheyAre(String name, String path) throws IOException {
        dockerd.answers("/images/" + path + "/json", 200, IMAGE);
        assertTrue(engine.image(name).isPresent(), dockerd.requests().toString());
    }

    @Test
    void versionIsRequestedOnce() throws IOException {
        engine.image("cuda");
        engine.image("cuda");
        assertEquals(
                List.of("GET /_ping", "GET /v1.41" + CUDA, "GET /v1.41" + CUDA),
                dockerd.requests());
    }

    @Test
    void engineWithoutVersionIsQueriedWithout() throws IOException {
        dockerd.answersRaw("/_ping", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK");
        assertTrue(engine.image("cuda").isPresent());
        assertEquals("GET " + CUDA, dockerd.requests().getLast());
    }

    @Test
    void restartedEngineIsQueriedAgain() throws IOException {
        engine.image("cuda");
        dockerd.restart();
        assertTrue(engine.image("cuda").isPresent());
    }

    /** The transport would first check whether such a connection still lives, and wait for that. */
    @Test
    void connectionThatWasIdleForSecondsIsUsed() throws Exception {
        engine.image("cuda");
        Thread.sleep(2_500);
        assertTrue(engine.image("cuda").isPresent());
        assertEquals(3, dockerd.requests().size());
    }

    @Test
    void newerEngineIsQueriedWithItsOwnVersion() throws IOException {
        engine.image("cuda");
        dockerd.speaks("1.52");
        assertTrue(engine.image("cuda").isPresent());
        assertEquals(
                List.of("GET /v1.41" + CUDA, "GET /_ping", "GET /v1.52" + CUDA),
                dockerd.requests().subList(2, 5));
    }

    @Test
    void engineThatIsStartedLateIsReached() throws IOException {
        dockerd.close();
        assertThrows(EngineException.class, () -> engine.image("cuda"));
        dockerd.restart();
        assertTrue(engine.image("cuda").isPresent());
    }

    @Test
    void manyMayQueryItWhileItRestarts() throws Exception {
        engine.image("cuda");
        Callable<Optional<ImageConfig>> query = () -> engine.image("cuda");
        try (var pool = Executors.newFixedThreadPool(8)) {
            for (int round = 0; round < 10; round++) {
                dockerd.restart();
                for (var answer : pool.invokeAll(Collections.nCopies(8, query))) {
                    assertTrue(answer.get().isPresent());
                }
            }
        }
    }

    @Test
    void stoppedEngineIsNamedWithTheRemedy() throws IOException {
        dockerd.close();
        String text = assertFailure(() -> engine.image("cuda"));
        assertTrue(text.contains("does not answer"), text);
        assertTrue(text.endsWith("start it: systemctl start docker"), text);
    }

    @Test
    void engineThatHangsUpIsNamedWithTheRemedy() {
        dockerd.goMute();
        String text = assertFailure(() -> engine.image("cuda"));
        assertTrue(text.endsWith("start it: systemctl start docker"), text);
        // The ping is not repeated: it might start an engine that has stopped meanwhile.
        assertEquals(List.of("GET /_ping"), dockerd.requests());
    }

    @Test
    void answerThatIsCutShortIsAFailure() {
        dockerd.answersRaw(CUDA, "HTTP/1.1 200 OK\r\n\r\n{\"Config\": {\"Env\": [\"PATH=/b");
        assertFailure(() -> engine.image("cuda"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "nonsense", "[]", "{\"Config\": 5}", "<html></html>"})
    void answerThatIsNoImageIsAFailure(String body) {
        dockerd.answers(CUDA, 200, body);
        assertFailure(() -> engine.image("cuda"));
    }

    @ParameterizedTest
    @ValueSource(ints = {403, 409, 500, 503})
    void refusalKeepsTheEnginesText(int status) {
        dockerd.answers(CUDA, status, "{\"message\":\"the disk is full\"}");
        String text = assertFailure(() -> engine.image("cuda"));
        assertTrue(text.contains("refused to inspect image cuda"), text);
        assertTrue(text.contains("the disk is full"), text);
    }

    @Test
    void runtimesAreThoseOfInfo() throws IOException {
        dockerd.answers(
                "/info",
                200,
                """
                {"DefaultRuntime": "nvidia", "Runtimes": {
                  "io.containerd.runc.v2": {"path": "runc", "status": {"x": "y"}},
                  "kata": {"runtimeType": "io.containerd.kata.v2"},
                  "nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []},
                  "runc": {"path": "runc"}}}
                """);
        EngineRuntimes runtimes = engine.runtimes();
        assertEquals(
                new EngineRuntimes(
                        "nvidia",
                        Map.of(
                                "io.containerd.runc.v2", "runc",
                                "kata", "",
                                "nvidia", "nvidia-container-runtime",
                                "runc", "runc")),
                runtimes);
    }

    @Test
    void engineThatNamesNoRuntimeHasNoPlainOne() throws IOException {
        dockerd.answers("/info", 200, "{}");
        assertFalse(engine.runtimes().isPlain(""));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"Components\": [{\"Name\": \"Engine\"}, {\"Name\": \"runc\"}]} | true | false",
                "{\"Components\": [{\"Name\": \"Podman Engine\"}, {\"Name\": \"Engine\"}]} | false"
                        + " | true",
                "{\"Components\": [{\"Name\": \"balena\"}]} | false | false",
                "{\"Components\": [{}]} | false | false",
                "{\"Components\": []} | false | false",
                "{} | false | false",
            })
    void productIsTheFirstComponent(String version, boolean docker, boolean podman)
            throws IOException {
        dockerd.answers("/version", 200, version);
        dockerd.answers("/info", 200, "{}");
        for (EngineProduct product : List.of(engine.product(), EngineProduct.parse(version))) {
            assertEquals(docker, product.isDocker());
            assertEquals(podman, product.isPodman());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "null", "[]", "<html>", "{\"Components\": 7}", "{\"Components\":"})
    void printedVersionThatIsNoneIsOfNoProduct(String printed) {
        assertEquals(EngineProduct.UNKNOWN, EngineProduct.parse(printed));
        assertEquals(EngineProduct.UNKNOWN, EngineProduct.parse(printed + "[".repeat(100_000)));
    }

    @Test
    void versionThatIsGarbageOrRefusedIsAFailure() {
        dockerd.answers("/version", 200, "<html>");
        assertFailure(engine::product);
        dockerd.answers("/version", 403, "{\"message\":\"forbidden\"}");
        assertTrue(assertFailure(engine::product).contains("forbidden"));
    }

    /** Asserts that a failure names the socket and shows users no class names. */
    private String assertFailure(Executable question) {
        String text = assertThrows(EngineException.class, question).getMessage();
        assertTrue(text.contains(engine.socket().toString()), text);
        assertFalse(text.matches("(?s).*\\b(com|org|java|jnvdocker)\\.[a-z].*"), text);
        assertFalse(text.contains("Exception"), text);
        return text;
    }
}
