package jnvdocker.docker.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.core.LeaseParts;
import jnvdocker.core.TestingParts;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Origin;
import jnvdocker.lease.TestingLeases;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;

/** The requests to an engine, and the registry's changes, after events of its containers. */
@Attack(
        by = "a member",
        what =
                "labels an image with `jnvdocker.claim`, starts and renames its containers in a"
                        + " loop",
        result =
                "costs no comparison of everything; the same event is seen to once more, however"
                        + " often it comes")
class EngineWatchTest {
    private static final ClaimKey KEY = TestingLeases.key("0123456789ab");
    private static final String CLAIM = KEY.text();
    private static final String LABELLED =
            "/containers/json?all=true&filters={\"label\":[\"jnvdocker.claim\"]}";

    @TempDir Path directory;
    private TestingEngine dockerd;
    private DockerEngine engine;
    private LeaseParts parts;
    private final StringBuilder events = new StringBuilder();

    @BeforeEach
    void open() throws IOException {
        Path socket = directory.resolve("docker.sock");
        dockerd = TestingEngine.start(socket);
        dockerd.answers("/info", 200, "{\"ID\": \"ABCD\"}")
                .answers("/containers/json", 200, "[]")
                .answers(LABELLED, 200, "[]");
        engine = new DockerEngine(socket, directory.resolve("proxy.sock"), _ -> false);
        parts =
                TestingParts.open(
                        Files.createDirectory(directory.resolve("state")),
                        engine,
                        () -> List.of(TestingLeases.A),
                        TestingLeases.NO_USES,
                        TestingLeases.POLICY,
                        GpuTraits.UNKNOWN);
    }

    @AfterEach
    void close() throws IOException {
        engine.close();
        parts.close();
        dockerd.close();
    }

    private void happens(String action, String container, String name, String claim) {
        events.append(
                """
                {"Type": "container", "Action": "%s", "time": 1, "timeNano": 1,
                 "Actor": {"ID": "%s", "Attributes": {"name": "%s", "jnvdocker.claim": "%s"}}}
                """
                        .formatted(action, container, name, claim));
    }

    /** Publishes all events, and those of one more container, which is inspected. */
    private void watchUntilSeen(Callable<Boolean> seen) throws Exception {
        happens("start", "last", "last", "");
        dockerd.happened(events.toString());
        try (EngineWatch _ = EngineWatch.start(engine, parts.reconciler(), parts.refusedStarts())) {
            long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
            while (requested("/containers/last/json") == 0 || !seen.call()) {
                assertTrue(System.nanoTime() < deadline, () -> "requests: " + dockerd.requests());
                Thread.sleep(10);
            }
        }
    }

    private long requested(String path) {
        return dockerd.requests().stream()
                .filter(it -> URLDecoder.decode(it, StandardCharsets.UTF_8).endsWith(path))
                .count();
    }

    private void answers(String container, String volumes) {
        dockerd.answers(
                "/containers/" + container + "/json",
                200,
                """
                {"Id": "%s", "Name": "/%s", "State": {"Running": false},
                 "Config": {"Labels": {"jnvdocker.claim": "%s"}}, "Mounts": [%s]}
                """
                        .formatted(container, container, CLAIM, volumes));
    }

    /** Images can have any labels. */
    @Test
    void labelOfAnImageAloneMakesNobodyCompareEverything() throws Exception {
        List<String> containers = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            for (String claim : List.of("x", CLAIM)) {
                String container = "c" + i + "-" + claim;
                containers.add(container);
                answers(container, "");
                happens("create", container, container, claim);
                happens("start", container, container, claim);
                happens("rename", container, container + "-new", claim);
            }
        }
        watchUntilSeen(() ->
                containers.stream().allMatch(it -> requested("/containers/" + it + "/json") > 0));
        // Each time that it begins to follow the engine, and at no other time.
        long begun = dockerd.requests().stream().filter(it -> it.contains("/events")).count();
        assertEquals(begun, requested(LABELLED));
    }

    @Test
    void whatHappensManyTimesIsSeenToOnceMore() throws Exception {
        answers("c", "{\"Type\": \"volume\", \"Name\": \"jnvdocker_claim_" + CLAIM + "\"}");
        dockerd.answersLate(Duration.ofMillis(20));
        for (int i = 0; i < 40; i++) {
            happens("start", "c", "c", CLAIM);
        }
        watchUntilSeen(() -> requested("/containers/c/json") > 1);
        assertTrue(requested("/containers/c/json") < 10, () -> "requests: " + dockerd.requests());
    }

    /** Whether the container carries a label of ours or not. */
    @Test
    void holderIsRenamedByItsId() throws Exception {
        parts.registry()
                .claims()
                .restore(
                        new Claim(
                                KEY,
                                new Origin.OciContainer("/run/runc", Optional.of("cuda")),
                                TestingLeases.ALICE,
                                List.of(ClaimedGpu.of(TestingLeases.A)),
                                TestingLeases.THEN,
                                Optional.of(new Claim.ContainerRef("c", "first"))),
                        false);
        happens("rename", "c", "second", "");
        happens("rename", "other", "other", "");
        happens("rename", "c", "third", "");
        watchUntilSeen(() ->
                parts.registry().claims().claim(KEY).orElseThrow().container().stream()
                        .anyMatch(container -> container.name().equals("third")));
    }
}
