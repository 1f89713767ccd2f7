package jnvdocker.docker.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.use.GpuAccess;
import jnvdocker.use.GpuUse.Kind;
import jnvdocker.use.RunningContainer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The questions that leases put to an engine, against answers as dockerd writes them. */
@Attack(
        by = "a member",
        what = "gives a container a label whose name has 60,000 characters, or 20,000 mounts",
        result = "the list of containers has all others; before, it failed as a whole")
@Attack(
        by = "a local volume that is named like a claim's, in a container with its labels",
        what = "has a lost claim restored",
        result = "no claim: the engine's own volumes are none of ours")
class EngineContainersTest {
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final String ID = "0d1f".repeat(16);
    private static final String LABELLED =
            "/containers/json?all=true&filters={\"label\":[\"jnvdocker.claim\"]}";
    private static final String USING =
            "/containers/json?all=true&filters={\"volume\":[\"jnvdocker_claim_0123456789ab\"]}";

    @TempDir Path directory;
    private TestingEngine dockerd;
    private DockerEngine engine;

    @BeforeEach
    void start() throws IOException {
        dockerd = TestingEngine.start(directory.resolve("docker.sock"));
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
    void listedContainerIsItsNameStateLabelsAndVolumes() throws IOException {
        String json =
                """
                [{"Id": "%s", "Names": ["/train-7"], "State": "exited",
                  "Labels": {"jnvdocker.claim": "0123456789ab"},
                  "Mounts": [
                    {"Type": "bind", "Source": "/data", "Destination": "/data"},
                    {"Type": "volume", "Name": "jnvdocker_claim_0123456789ab",
                     "Destination": "/run/jnvdocker"}]}]
                """
                        .formatted(ID);
        dockerd.answers(LABELLED, 200, json).answers(USING, 200, json);
        var expected =
                new ContainerEngine.Listed(
                        ID,
                        "train-7",
                        "exited",
                        Map.of("jnvdocker.claim", "0123456789ab"),
                        List.of("jnvdocker_claim_0123456789ab"));
        assertEquals(List.of(expected), engine.labelled("jnvdocker.claim", LIMIT));
        assertEquals(
                List.of(expected), engine.using(List.of("jnvdocker_claim_0123456789ab"), LIMIT));
    }

    /** Its maker can choose any names, and mount as much as they like. */
    @Test
    void containerWithLongLabelsAndManyMountsDoesNotHideTheOthers() throws IOException {
        String mounts =
                "{\"Type\":\"bind\",\"Source\":\"/data\",\"Destination\":\"/data\"},"
                        .repeat(20_000);
        String one =
                "{\"Id\":\"%s\",\"Names\":[\"/%s\"],\"Labels\":{%s},\"State\":\"exited\","
                        + "\"Mounts\":[%s{\"Name\":\"v\"}]}";
        String claim = "\"jnvdocker.claim\":\"0123456789ab\"";
        String longName = "\"" + "\\u0041a\\\"".repeat(20_000) + "\":\"\",";
        dockerd.answers(
                LABELLED,
                200,
                "["
                        + one.formatted("a", "long", longName + claim, mounts)
                        + ","
                        + one.formatted("b", "train", "\"x\":\"1\"," + claim, "")
                        + "]");
        var listed = engine.labelled("jnvdocker.claim", LIMIT);
        assertEquals(List.of("long", "train"), listed.stream().map(it -> it.name()).toList());
        assertEquals("exited", listed.getFirst().state());
        Map<String, String> labels = Map.of("jnvdocker.claim", "0123456789ab");
        assertEquals(labels, listed.getFirst().labels());
        assertEquals(
                new ContainerEngine.Listed("b", "train", "exited", labels, List.of("v")),
                listed.getLast());
    }

    @Test
    void containerThatIsDescribedAtTooGreatLengthFailsAlone() throws IOException {
        String rules = "\"c 1:1 rwm\",".repeat(50_000);
        String one = "{\"Id\":\"%s\",\"HostConfig\":{\"DeviceCgroupRules\":[%s\"c 1:1 r\"]}}";
        dockerd.answers("/containers/long/json", 200, one.formatted("long", rules))
                .answers("/containers/short/json", 200, one.formatted("short", ""));
        String message =
                assertThrows(EngineException.class, () -> engine.inspect("long", LIMIT))
                        .getMessage();
        assertTrue(message.contains("inspect container long is too long: "), message);
        assertTrue(engine.inspect("short", LIMIT).isPresent());
    }

    /** Reads no more of an answer than it keeps. */
    @Test
    void partsThatNobodyReadsMayBeLong() throws IOException {
        String ports = "\"1/tcp\":[{\"HostIp\":\"::\",\"HostPort\":\"1\"}],".repeat(50_000);
        dockerd.answers(
                "/containers/x/json",
                200,
                "{\"Id\":\"x\",\"NetworkSettings\":{\"Ports\":{"
                        + ports
                        + "\"2/tcp\":[]}},\"Args\":[\""
                        + "a".repeat(3_000_000)
                        + "\"],\"Config\":{\"Labels\":{\"l\":\"1\",\"jnvdocker.gpus\":\"GPU-1\"}}}");
        assertEquals(
                Map.of("jnvdocker.gpus", "GPU-1"),
                engine.inspect("x", LIMIT).orElseThrow().labels());
    }

    @Test
    void thousandsOfVolumesAreListed() throws IOException {
        String volume =
                """
                {"CreatedAt": "2026-11-25T12:00:00Z", "Driver": "nvidia-docker", "Labels": null,
                 "Mountpoint": "/run/jnvdocker/claims/0123456789ab/mount", "Scope": "local",
                 "Name": "jnvdocker_claim_0123456789ab", "Status": {"opts": {"a": "b"}},
                 "Options": {"gpus": "GPU-5c1a0000-0000-4000-8000-000000000000", "minors": "0",
                  "uid": "1000"}},
                """;
        dockerd.answers(
                "/volumes?filters={\"driver\":[\"nvidia-docker\"]}",
                200,
                "{\"Volumes\": [" + volume.repeat(2500) + "{\"Name\": \"last\"}]}");
        assertEquals(2501, engine.objects().volumesOf("nvidia-docker", LIMIT).size());
    }

    @Test
    void missingFieldsAreEmpty() throws IOException {
        dockerd.answers(LABELLED, 200, "[{\"Id\": \"" + ID + "\"}]")
                .answers("/containers/x/json", 200, "{\"Id\": \"" + ID + "\"}");
        var expected = new ContainerEngine.Listed(ID, "0d1f0d1f0d1f", "", Map.of(), List.of());
        assertEquals(List.of(expected), engine.labelled("jnvdocker.claim", LIMIT));
        assertEquals(
                Optional.of(
                        new ContainerEngine.Inspected(
                                ID, "0d1f0d1f0d1f", "", 0, false, Map.of(), List.of())),
                engine.inspect("x", LIMIT));
    }

    @Test
    void pidIsOfAContainerThatRuns() throws IOException {
        String json =
                """
                {"Id": "%s", "Name": "/train-7", "Image": "sha256:5", "Config": {"Labels": {"jnvdocker.owner": "b"}},
                 "State": {"Running": %s, "Restarting": %s, "Pid": 4711},
                 "Mounts": [{"Type": "volume", "Name": "data"}]}
                """;
        dockerd.answers("/containers/a/json", 200, json.formatted(ID, "true", "false"))
                .answers("/containers/b/json", 200, json.formatted(ID, "false", "true"));
        assertEquals(
                new ContainerEngine.Inspected(
                        ID,
                        "train-7",
                        "sha256:5",
                        4711,
                        false,
                        Map.of("jnvdocker.owner", "b"),
                        List.of("data")),
                engine.inspect("a", LIMIT).orElseThrow());
        assertEquals(0, engine.inspect("b", LIMIT).orElseThrow().pid());
        assertTrue(engine.inspect("b", LIMIT).orElseThrow().restarting());
        assertEquals(Optional.empty(), engine.inspect("none", LIMIT));
    }

    /** Its first process must be a live one: ours. */
    @Test
    void runningContainerIsInspectedOnce() throws IOException {
        long pid = ProcessHandle.current().pid();
        dockerd.answers(
                        "/info",
                        200,
                        "{\"Runtimes\": {\"gpu\": {\"path\":"
                                + " \"/usr/bin/nvidia-container-runtime\"}}}")
                .answers(
                        "/containers/json",
                        200,
                        "[{\"Id\": \"%s\", \"Names\": [\"/train-8\"]}]".formatted(ID))
                .answers(
                        "/containers/" + ID + "/json",
                        200,
                        """
                        {"Id": "%s", "Name": "/train-7",
                         "Config": {"Image": "cuda", "Labels": {"jnvdocker.owner": "b"},
                           "Env": ["A=b", "NVIDIA_VISIBLE_DEVICES=0, GPU-5c1a"]},
                         "State": {"Running": true, "Pid": %d},
                         "Mounts": [{"Type": "bind", "Source": "/dev", "Destination": "/dev"}],
                         "HostConfig": {"Privileged": true, "Runtime": "gpu",
                           "Devices": [{"PathOnHost": "/dev/nvidia0"}],
                           "DeviceCgroupRules": ["c 195:* rmw"],
                           "DeviceRequests": [
                             {"Driver": "", "Count": 2, "Capabilities": [["gpu"]]},
                             {"Driver": "nvidia", "Count": -1, "Capabilities": [["compute"]]},
                             {"Driver": "", "DeviceIDs": ["1", "GPU-7"],
                              "Capabilities": [["utility", "nvidia"]]},
                             {"Driver": "", "DeviceIDs": ["0,1"],
                              "Capabilities": [["gpu", "net"], ["compute", "utility"]]},
                             {"Driver": "cdi",
                              "DeviceIDs": ["nvidia.com/gpu=all", "vendor.com/net=1"]},
                             {"Driver": "amd", "Count": -1, "Capabilities": [["gpu"]]}]}}
                        """
                                .formatted(ID, pid));
        List<GpuAccess.Given> given =
                List.of(
                        new GpuAccess.Given(Kind.REQUEST, List.of("0", "1")),
                        new GpuAccess.Given(Kind.REQUEST, List.of("all")),
                        new GpuAccess.Given(Kind.REQUEST, List.of("1", "GPU-7")),
                        new GpuAccess.Given(Kind.REQUEST, List.of("0", "1")),
                        new GpuAccess.Given(Kind.CDI, List.of("all")),
                        new GpuAccess.Given(Kind.REQUEST, List.of()),
                        new GpuAccess.Given(Kind.RUNTIME, List.of("0", "GPU-5c1a")));
        RunningContainer container = engine.running(LIMIT).getFirst();
        assertEquals("train-7", container.name());
        assertEquals("cuda", container.image());
        assertEquals(pid, container.init().orElseThrow().pid());
        assertEquals(
                new GpuAccess(
                        true,
                        List.of("/dev/nvidia0"),
                        List.of("/dev"),
                        List.of("c 195:* rmw"),
                        given),
                container.access());
        dockerd.answers("/containers/" + ID + "/json", 500, "{}");
        assertEquals(List.of(container.named("train-8")), engine.running(LIMIT));
        assertEquals(List.of(container.named("train-8")), engine.lastKnown());
        engine.renamed(ID, "train-9");
        assertEquals(List.of(container.named("train-9")), engine.lastKnown());
    }

    @Test
    void inspectOfARunningContainerIsRemembered() throws IOException {
        String running =
                "{\"Id\": \"%s\", \"State\": {\"Running\": true, \"Pid\": %d}}"
                        .formatted(ID, ProcessHandle.current().pid());
        dockerd.answers("/info", 200, "{}").answers("/containers/" + ID + "/json", 200, running);
        engine.memory().follow();
        engine.runtimes();
        engine.inspect(ID, LIMIT);
        assertEquals(ID, engine.lastKnown().getFirst().id());
        int requested = dockerd.requests().size();
        engine.learn(ID);
        assertEquals(requested, dockerd.requests().size());
    }

    @Test
    void containerWithoutGpusHasNone() throws IOException {
        dockerd.answers("/info", 200, "{}")
                .answers("/containers/json", 200, "[{\"Id\": \"%s\"}]".formatted(ID))
                .answers(
                        "/containers/" + ID + "/json",
                        200,
                        """
                        {"Id": "%s", "State": {"Running": true, "Restarting": true, "Pid": 0},
                         "Config": {"Env": ["NVIDIA_VISIBLE_DEVICES=all"]},
                         "HostConfig": {"Runtime": "runc"}}
                        """
                                .formatted(ID));
        RunningContainer container = engine.running(LIMIT).getFirst();
        assertEquals(GpuAccess.NONE, container.access());
        assertEquals(Optional.empty(), container.init());
        assertEquals(List.of(), engine.lastKnown());
    }

    @Test
    void volumeIsGoneOrStillNamed() throws IOException {
        dockerd.answers("/volumes/v", 204, "")
                .answers("/volumes/w", 409, "{\"message\":\"volume is in use - [0d1f]\"}");
        assertTrue(engine.removeVolume("v", LIMIT));
        assertTrue(engine.removeVolume("none", LIMIT));
        assertFalse(engine.removeVolume("w", LIMIT));
    }

    @Test
    void engineThatIsBusyStartingIsNotWaitedFor() {
        dockerd.answersLate(Duration.ofSeconds(60));
        long start = System.nanoTime();
        var failed =
                assertThrows(
                        EngineException.class,
                        () -> engine.labelled("jnvdocker.claim", Duration.ofMillis(200)));
        assertTrue(failed.getMessage().contains("has not answered for 0.2 s"), failed::getMessage);
        assertTrue(System.nanoTime() - start < 30_000_000_000L);
    }

    @Test
    void engineInfoIsRememberedAsLongAsItIsFollowed() throws IOException {
        dockerd.answers("/info", 200, "{\"ID\": \"ABCD\", \"DefaultRuntime\": \"runc\"}");
        engine.id(LIMIT);
        engine.id(LIMIT);
        assertEquals(2, requested("/info"));
        assertEquals(Optional.empty(), engine.knownId());

        engine.memory().follow();
        assertEquals("ABCD", engine.id(LIMIT));
        assertEquals("ABCD", engine.id(LIMIT));
        assertEquals(Optional.of("ABCD"), engine.knownId());
        engine.runtimes();
        engine.runtimes();
        assertEquals(3, requested("/info"));

        engine.memory().forget();
        assertEquals(Optional.empty(), engine.knownId());
        engine.runtimes();
        assertEquals(4, requested("/info"));

        engine.memory().leave();
        engine.runtimes();
        engine.runtimes();
        assertEquals(6, requested("/info"));
    }

    @Test
    void answerThatIsOlderThanAChangeIsNotRemembered() throws IOException {
        EngineMemory memory = new EngineMemory();
        memory.follow();
        assertEquals(
                "old",
                memory.facts(
                                () -> {
                                    memory.forget();
                                    return version("old");
                                })
                        .version());
        assertEquals("new", memory.facts(() -> version("new")).version());
        assertEquals("new", memory.facts(() -> version("newer")).version());
    }

    private static EngineFacts version(String version) {
        return new EngineFacts(
                Optional.empty(),
                EngineProduct.UNKNOWN,
                version,
                "",
                "",
                new EngineRuntimes("", Map.of()));
    }

    private long requested(String path) {
        return dockerd.requests().stream().filter(request -> request.endsWith(path)).count();
    }
}
