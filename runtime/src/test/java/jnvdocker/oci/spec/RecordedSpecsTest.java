package jnvdocker.oci.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.container.ContainerEdits;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.DeviceNode;
import jnvdocker.host.Gpu;
import jnvdocker.labels.ImageConfig;
import jnvdocker.lease.ObserverPolicy;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Recorded container configurations of real engines, read, decided and edited. */
class RecordedSpecsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path RECORDINGS = Path.of("../tests/fixtures/oci");
    private static final Majors MAJORS = new Majors(195, Set.of(510));
    private static final VolumeMount DRIVER =
            new VolumeMount("nvidia_driver_535", "nvidia-docker", "/usr/local/nvidia");

    private static final ContainerEdits EDITS =
            new ContainerEdits(
                    List.of(
                            new DeviceNode("/dev/nvidiactl", Path.of("/dev/nvidiactl"), 195, 255),
                            new DeviceNode("/dev/nvidia3", Path.of("/dev/nvidia3"), 195, 3)),
                    List.of(DRIVER),
                    Map.of(
                            "LD_LIBRARY_PATH",
                            "/usr/local/nvidia/lib64",
                            "NVIDIA_VISIBLE_DEVICES",
                            "GPU-3"),
                    Map.of());

    /** The creation of a container. */
    record Recorded(String name, String config, String container, String host) {
        @Override
        public String toString() {
            return name;
        }

        RuntimeSpec spec() throws Exception {
            return RuntimeSpec.parse(config);
        }

        Optional<DockerContainer> docker(RuntimeSpec spec) throws Exception {
            return DockerContainer.parse(spec, container, host);
        }
    }

    static List<Recorded> all() throws IOException {
        List<Recorded> all = new ArrayList<>();
        List<Path> files;
        try (Stream<Path> walk = Files.walk(RECORDINGS)) {
            files = walk.filter(file -> file.toString().endsWith(".json")).sorted().toList();
        }
        for (Path file : files) {
            for (JsonNode call : JSON.readTree(file.toFile()).path("calls")) {
                if (call.has("config.json")) {
                    all.add(
                            new Recorded(
                                    RECORDINGS.relativize(file).toString(),
                                    call.get("config.json").toString(),
                                    text(call, "config.v2.json"),
                                    text(call, "hostconfig.json")));
                }
            }
        }
        return all;
    }

    private static String text(JsonNode call, String name) {
        return call.has(name) ? call.get(name).toString() : "";
    }

    private static Recorded recorded(String name) throws IOException {
        return all().stream().filter(it -> it.name().equals(name)).findFirst().orElseThrow();
    }

    @Test
    void thereAreSomeOfEachEngine() throws IOException {
        assertTrue(all().size() >= 30, () -> "only these");
    }

    /** These images request nothing themselves. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "docker-20.10.24/gpus-2.json | 2 | DEVICE_REQUEST",
                "docker-28.5.2/gpus-2.json | 2 | DEVICE_REQUEST",
                "docker-29.2/gpus-2.json | 2 | DEVICE_REQUEST",
                "docker-20.10.24/gpus-all.json | all | DEVICE_REQUEST",
                "docker-28.5.2/gpus-all.json | all | DEVICE_REQUEST",
                "docker-20.10.24/gpus-ids.json | \"device=0,1\" | DEVICE_REQUEST",
                "docker-28.5.2/gpus-ids.json | \"device=0,1\" | DEVICE_REQUEST",
                "docker-20.10.24/gpus-0.json | none | DEVICE_REQUEST",
                "docker-28.5.2/gpus-0.json | none | DEVICE_REQUEST",
                "docker-20.10.24/env.json | device=GPU-x | VISIBLE_DEVICES",
                "docker-28.5.2/swarm.json | \"device=GPU-aaaa,GPU-bbbb\" | SWARM",
                "podman-5.8.6/run-rm.json | 2 | ANNOTATION",
                "crio-1.37.0/pod.json | 2 | ANNOTATION"
            })
    void recordedRequestIsUnderstood(String name, String request, GpuWish.Source source)
            throws Exception {
        assertEquals(
                new GpuWish.Gpus(GpuRequest.parseOption(request), source, Set.of()),
                wish(recorded(name)));
    }

    @ParameterizedTest
    @CsvSource({
        "docker-20.10.24/device.json",
        "docker-28.5.2/cdi.json",
        "podman-4.3.1/cdi.json",
        "podman-4.3.1/device.json"
    })
    void nodesThatWereGivenAreLeased(String name) throws Exception {
        assertTrue(wish(recorded(name)) instanceof GpuWish.Nodes, name);
    }

    /** It passes on what its pods say, but for its own words. */
    @Test
    void podOfCrioIsKnownByWhatCrioSays() throws Exception {
        RuntimeSpec.Pod train = new RuntimeSpec.Pod("train", "default", "train");
        Recorded recorded = recorded("crio-1.37.0/pod.json");
        assertEquals(Optional.of(train), recorded.spec().pod());
        ObjectNode forged = (ObjectNode) JSON.readTree(recorded.config());
        forged.withObjectProperty("annotations")
                .put("io.kubernetes.pod.uid", "other")
                .put("io.kubernetes.cri.container-type", "container")
                .put("io.kubernetes.cri.sandbox-uid", "other");
        assertEquals(Optional.of(train), RuntimeSpec.parse(forged.toString()).pod());
    }

    @ParameterizedTest
    @CsvSource({
        "/kubepods/besteffort/pod7c2f/crio-ID, container, true",
        "kubepods-besteffort-pod7c2f.slice:crio:ID, container, true",
        "crio-ID, container, true",
        "/kubepods/besteffort/pod7c2f/ID, container, false",
        "kubepods-besteffort-pod7c2f.slice:cri-containerd:ID, container, false",
        "/kubepods/besteffort/pod7c2f/crio-ID, sandbox, false"
    })
    void otherEnginesPodsForgeNoneOfCrios(String cgroup, String kind, boolean isPod)
            throws Exception {
        ObjectNode spec = (ObjectNode) JSON.readTree(recorded("crio-1.37.0/pod.json").config());
        spec.withObjectProperty("linux").put("cgroupsPath", cgroup.replace("ID", "5".repeat(64)));
        spec.withObjectProperty("annotations").put("io.kubernetes.cri-o.ContainerType", kind);
        assertEquals(isPod, RuntimeSpec.parse(spec.toString()).pod().isPresent());
    }

    @Test
    void annotationThatMayBeTheImagesIsRefused() {
        String message =
                assertThrows(
                                RefusedException.class,
                                () -> wish(recorded("podman-4.3.1/run-rm.json")))
                        .getMessage();
        assertTrue(message.contains("may come from its image"), message);
    }

    private static GpuWish wish(Recorded recorded) throws Exception {
        RuntimeSpec spec = recorded.spec();
        return new GpuWishes(
                        () ->
                                new GpuWishes.Settings(
                                        true,
                                        true,
                                        new GpuRequest.All(),
                                        new GpuRequest.All(),
                                        false,
                                        Set.of("NVIDIA-GPU"),
                                        ObserverPolicy.NONE),
                        "nvidia-docker",
                        Optional::empty)
                .of(
                        spec,
                        recorded.docker(spec),
                        Optional.of(new ImageConfig(Map.of(), Map.of())),
                        new GpuWishes.World(Set.of(0, 1, 2, 3), MAJORS, Path.of("/claims")),
                        _ -> Optional.empty());
    }

    @ParameterizedTest
    @MethodSource("all")
    void editsGiveItsGpusAndNoOthers(Recorded recorded) throws Exception {
        RuntimeSpec spec = recorded.spec();
        SpecEdits.apply(
                spec,
                EDITS,
                Map.of(DRIVER, Path.of("/volumes/535")),
                Path.of("/volumes/535"),
                MAJORS,
                recorded.docker(spec),
                Optional.of("0123456789ab"));
        JsonNode edited = JSON.readTree(spec.toString());
        if (!spec.allowsAllDevices()) {
            assertEquals(Set.of(3), spec.gpuMinors(195, Set.of(0, 1, 2, 3)));
        }
        assertEquals("GPU-3", spec.environment().get("NVIDIA_VISIBLE_DEVICES"));
        assertFalse(edited.path("hooks").toString().contains("nvidia"), spec::toString);
        JsonNode rules = edited.path("linux").path("resources").path("devices");
        assertEquals(3, rules.get(rules.size() - 1).path("minor").asInt());
        assertEquals(
                "{\"destination\":\"/usr/local/nvidia\",\"type\":\"bind\","
                        + "\"source\":\"/volumes/535\",\"options\":[\"bind\",\"ro\",\"nosuid\","
                        + "\"nodev\",\"rprivate\"]}",
                edited.path("mounts").get(edited.path("mounts").size() - 1).toString());
        assertEquals("0123456789ab", edited.path("annotations").path("jnvdocker.lease").asText());
    }

    /** Instances of a GPU are in the directory of the GPU. */
    @ParameterizedTest
    @MethodSource("all")
    void hookShowsItsGpusBehindThoseOfItsUser(Recorded recorded) throws Exception {
        RuntimeSpec spec = recorded.spec();
        int before = JSON.readTree(recorded.config()).path("hooks").path("createContainer").size();
        Gpu gpu = new Gpu(3, "GPU-3", 3, "0000:1f:00.0", "A100");
        SpecEdits.showAlone(
                spec,
                Path.of("/lib/runtime"),
                Path.of("/bundle"),
                List.of(gpu, gpu, new Gpu(0, "GPU-0", 0, "0000:07:00.0", "A100")));
        JsonNode hooks = JSON.readTree(spec.toString()).path("hooks").path("createContainer");
        assertEquals(before + 1, hooks.size());
        JsonNode words = hooks.get(before).path("args");
        assertEquals("/lib/runtime", hooks.get(before).path("path").asText());
        assertEquals("jnvdocker-gpus-hook", words.get(0).asText());
        assertTrue(words.get(1).asText().startsWith("/"), words::toString);
        assertEquals(
                "[\"proc/driver/nvidia/gpus\",\"0000:07:00.0\",\"0000:1f:00.0\"]",
                JSON.createArrayNode()
                        .add(words.get(2))
                        .add(words.get(3))
                        .add(words.get(4))
                        .toString());
        assertEquals(5, words.size());
    }

    /** Docker 29.2 has NVIDIA's CDI devices put in before a runtime sees the request. */
    @Test
    void nothingIsLeftOfWhatNvidiasCdiHasPutIn() throws Exception {
        Recorded recorded = recorded("docker-29.2/gpus-2.json");
        RuntimeSpec spec = recorded.spec();
        assertEquals(Set.of(0, 1), spec.gpuMinors(195, Set.of(0, 1, 2, 3)));
        SpecEdits.apply(
                spec,
                EDITS,
                Map.of(DRIVER, Path.of("/volumes/535")),
                Path.of("/volumes/535"),
                MAJORS,
                recorded.docker(spec),
                Optional.empty());
        JsonNode edited = JSON.readTree(spec.toString());
        JsonNode plain = JSON.readTree(recorded("docker-28.5.2/run-rm.json").config());
        assertEquals(plain.path("mounts").size() + 1, edited.path("mounts").size());
        assertEquals(
                List.of("/dev/nvidiactl", "/dev/nvidia3"),
                edited.path("linux").path("devices").findValuesAsText("path"));
        assertFalse(edited.path("linux").toString().contains("226"), edited::toString);
        assertFalse(spec.environment().containsKey("NVIDIA_CTK_LIBCUDA_DIR"));
    }

    /** Podman does not report which mounts are the user's. */
    @ParameterizedTest
    @CsvSource({
        "/data/nvidia-models, /models",
        "/data/nvidia-models, /data/nvidia-models",
        "/srv/nvidia/sets, /srv/nvidia/sets",
        "/home/ada/nvidia-smi, /home/ada/nvidia-smi",
        "/home/ada/libcuda.so.1, /opt/lib/libcuda.so.1",
        "/home/ada/nvidia-docs, /usr/share/nvidia-docs",
        "/home/ada/nvidia, /usr/local/lib/nvidia",
        "/run/nvidia-persistenced/socket, /srv/socket",
    })
    void mountsOfTheUsersOwnStay(String source, String target) throws Exception {
        ObjectNode config =
                (ObjectNode) JSON.readTree(recorded("docker-29.2/gpus-2.json").config());
        SpecJson.listIn(config, "mounts")
                .addObject()
                .put("destination", target)
                .put("type", "bind")
                .put("source", source)
                .putArray("options")
                .add("rbind");
        RuntimeSpec spec = RuntimeSpec.parse(config.toString());
        SpecEdits.withoutGpus(spec, MAJORS, Optional.empty());
        JsonNode edited = JSON.readTree(spec.toString()).path("mounts");
        assertEquals(target, edited.get(edited.size() - 1).path("destination").asText());
        assertEquals(
                List.of(),
                edited.findValuesAsText("source").stream()
                        .filter(it -> it.startsWith("/usr/"))
                        .toList());
    }

    /** Unknown values stay as they are. */
    @ParameterizedTest
    @MethodSource("all")
    void nothingElseChanges(Recorded recorded) throws Exception {
        RuntimeSpec spec = recorded.spec();
        assertEquals(JSON.readTree(recorded.config()), JSON.readTree(spec.toString()));
        SpecEdits.apply(
                spec,
                EDITS,
                Map.of(DRIVER, Path.of("/v")),
                Path.of("/v"),
                MAJORS,
                recorded.docker(spec),
                Optional.empty());
        ObjectNode before = (ObjectNode) JSON.readTree(recorded.config());
        ObjectNode after = (ObjectNode) JSON.readTree(spec.toString());
        for (ObjectNode each : List.of(before, after)) {
            ((ObjectNode) each.path("process")).remove("env");
            each.remove(List.of("mounts", "hooks", "annotations"));
            ObjectNode linux = (ObjectNode) each.path("linux");
            linux.remove("devices");
            if (linux.path("resources") instanceof ObjectNode resources) {
                resources.remove("devices");
            }
        }
        assertEquals(before, after);
    }

    @ParameterizedTest
    @MethodSource("all")
    void nothingIsLeftOfTheDriverWithoutGpus(Recorded recorded) throws Exception {
        RuntimeSpec spec = recorded.spec();
        SpecEdits.withoutGpus(spec, MAJORS, recorded.docker(spec));
        if (spec.allowsAllDevices()) {
            assertNvidiaIsDenied(spec);
        } else {
            assertFalse(spec.hasNvidia(MAJORS), spec::toString);
        }
    }

    private static void assertNvidiaIsDenied(RuntimeSpec spec) throws Exception {
        JsonNode rules = rules(spec);
        for (int back = 1; back <= 2; back++) {
            JsonNode last = rules.get(rules.size() - back);
            assertEquals(back == 1 ? 510 : 195, last.path("major").asInt());
            assertFalse(last.path("allow").asBoolean(true));
        }
    }

    private static JsonNode rules(RuntimeSpec spec) throws Exception {
        return JSON.readTree(spec.toString()).path("linux").path("resources").path("devices");
    }

    /** No runtime then takes a rule that denies. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "/docker/x | 'type':'c','major':-1,'minor':-1,'access':'rwm' | false | 509",
                "/docker/x | 'type':'c','minor':3,'access':'rw' | false | 509",
                "system.slice:docker:x | 'access':'rwm' | true | 510",
                "machine.slice:libpod:x | 'type':'a','major':-1,'minor':-1,'access':'rwm' | true |"
                        + " 510",
                ":docker:x | 'type':'a','major':10,'minor':1,'access':'m' | true | 2",
                ":docker:x | 'type':'a','major':195,'minor':1,'access':'rwm' | true | 1",
            })
    void othersAreAllowedOneByOne(String cgroup, String rule, boolean blocks, int added)
            throws Exception {
        String config =
                "{'linux':{'cgroupsPath':'%s','resources':{'devices':[{'allow':false,'access':'rwm'},{'allow':true,%s},{'allow':true,'type':'c','major':1,'minor':5,'access':'rwm'}]}}}"
                        .formatted(cgroup, rule)
                        .replace('\'', '"');
        RuntimeSpec spec = RuntimeSpec.parse(config);
        assertTrue(spec.allowsAllDevices());
        SpecEdits.withoutGpus(spec, MAJORS, Optional.empty());
        assertFalse(spec.hasNvidia(MAJORS), spec::toString);
        JsonNode rules = rules(spec);
        assertEquals(3 + added, rules.size());
        assertFalse(rules.get(0).path("allow").asBoolean(true));
        assertEquals(blocks ? "b" : "c", rules.get(2).path("type").asText());
        assertEquals(5, rules.get(rules.size() - 1).path("minor").asInt());
        String access = JSON.readTree("{" + rule.replace('\'', '"') + "}").path("access").asText();
        for (JsonNode each : rules) {
            if (each.path("allow").asBoolean() && each.path("minor").asInt() != 5) {
                assertEquals(access, each.path("access").asText());
            }
        }
    }

    @Test
    void dockersDirectoryIsFoundByItsMounts() throws Exception {
        Recorded recorded = recorded("docker-28.5.2/gpus-2.json");
        DockerContainer docker = recorded.docker(recorded.spec()).orElseThrow();
        assertEquals(Optional.of(Path.of("/var/lib/docker")), docker.dataRoot());
        assertEquals("busy_robinson", docker.name());
        assertEquals("plain", docker.imageName());
        assertFalse(docker.hasPolicy());
    }
}
