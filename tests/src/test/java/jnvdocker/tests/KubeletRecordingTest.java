package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.kubernetes.kubelet.GrpcSockets;
import jnvdocker.kubernetes.kubelet.KubeletLink;
import jnvdocker.kubernetes.kubelet.Resource;
import jnvdocker.process.Processes;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.OtherPlugin;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDevicePlugin;
import jnvdocker.tests.world.TestKubelet;
import jnvdocker.tests.world.TestPod;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** The kubelet of the tests calls a plugin as a real one has been recorded to. */
class KubeletRecordingTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<String> GPUS =
            Set.of(
                    "GPU-5c1a0000-9a1b-4d3e-8f70-000000000000",
                    "GPU-5c1a1003-9a1b-4d3e-8f70-000000000001",
                    "GPU-5c1a2006-9a1b-4d3e-8f70-000000000002",
                    "GPU-5c1a3009-9a1b-4d3e-8f70-000000000003");

    @TempDir Path temp;
    private TestKubelet kubelet;
    private KubeletLink link;

    @BeforeEach
    void start() throws Exception {
        kubelet = TestKubelet.start(temp);
        link = KubeletLink.open(temp, Processes.ofThisMachine());
        link.serve(List.of(new Resource(TestKubelet.GPU, new TestDevicePlugin(GPUS))));
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
        // The kubelet reads the devices before it has answered, and noted, the registration.
        Lab.await(
                () -> kubelet.calls().contains("Register") ? List.of() : List.of("not registered"));
    }

    @AfterEach
    void stop() throws Exception {
        link.close();
        kubelet.close();
    }

    /**
     * The calls of a recording, in the words of {@link TestKubelet#calls}. A real kubelet registers
     * a plugin and begins to read its devices at once, so these two come in any order.
     */
    private static List<String> recorded(String file) throws IOException {
        List<String> calls = new ArrayList<>();
        for (String line : Files.readAllLines(Project.fixture("k8s/" + file))) {
            JsonNode entry = JSON.readTree(line);
            if (!entry.path("phase").asText().equals("answered") && entry.has("call")) {
                calls.add(entry.path("call").asText() + about(entry.path("request")));
            }
        }
        return settled(calls);
    }

    private static String about(JsonNode request) {
        JsonNode container = request.path("container_requests").path(0);
        if (container.has("allocation_size")) {
            return " "
                    + container.path("allocation_size").asInt()
                    + " of "
                    + container.path("available_deviceIDs").size();
        }
        Set<String> ids = new TreeSet<>();
        container.path("devices_ids").forEach(it -> ids.add(it.asText()));
        request.path("devices_ids").forEach(it -> ids.add(it.asText()));
        return ids.isEmpty() ? "" : " " + String.join(" ", ids);
    }

    private static List<String> settled(List<String> calls) {
        List<String> settled = new ArrayList<>(calls);
        for (int i = 1; i < settled.size(); i++) {
            if (settled.get(i).equals("ListAndWatch") && settled.get(i - 1).equals("Register")) {
                settled.set(i - 1, "ListAndWatch");
                settled.set(i, "Register");
            }
        }
        return settled;
    }

    private List<String> callsSince(int count) {
        List<String> calls = kubelet.calls();
        return settled(calls.subList(count, calls.size()));
    }

    @Test
    void registrationAndFirstPod() throws IOException {
        TestPod pod = TestPod.of("p1", 1);
        kubelet.admit(pod);
        assertInstanceOf(TestKubelet.Running.class, kubelet.start(pod, "main"));
        assertEquals(recorded("register-and-first-pod/plugin.jsonl"), callsSince(0));
    }

    @Test
    void crashLoop() throws IOException {
        int before = kubelet.calls().size();
        TestPod pod = TestPod.of("crash", 2);
        kubelet.admit(pod);
        for (int run = 0; run < 3; run++) {
            kubelet.start(pod, "main");
            kubelet.ended(pod, "main");
        }
        assertEquals(recorded("crash-loop/plugin.jsonl"), callsSince(before));
    }

    @Test
    void twoContainersAndInitContainers() throws IOException {
        int before = kubelet.calls().size();
        TestPod pod =
                TestPod.of(
                        "multi",
                        List.of(TestPod.container("prep", 1), TestPod.sidecar("side", 1)),
                        List.of(TestPod.container("a", 2), TestPod.container("b", 1)));
        kubelet.admit(pod);
        for (String container : List.of("prep", "side", "a", "b")) {
            kubelet.start(pod, container);
        }
        assertEquals(recorded("two-containers-and-init/plugin.jsonl"), callsSince(before));
    }

    @Test
    void restartOfTheKubeletAlone() throws Exception {
        TestPod pod = TestPod.of("kr", 2);
        kubelet.admit(pod);
        kubelet.start(pod, "main");
        int before = kubelet.calls().size();
        kubelet.stop();
        assertEquals(Set.of(), kubelet.healthy(TestKubelet.GPU));
        kubelet.restart();
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
        Lab.await(() ->
                callsSince(before).contains("Register") ? List.of() : List.of("not registered"));
        kubelet.admit(pod);
        assertEquals(recorded("kubelet-restart-plugin-alive/plugin.jsonl"), callsSince(before));
    }

    /** A pod that runs keeps its devices; one that does not requests only its start. */
    @Test
    void rebootAsksForTheStartAlone() throws Exception {
        TestPod pod = TestPod.of("kr", 2);
        kubelet.admit(pod);
        kubelet.start(pod, "main");
        kubelet.killAll();
        kubelet.restart();
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
        int before = kubelet.calls().size();
        assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(pod));
        kubelet.start(pod, "main");
        assertEquals(1, callsSince(before).size(), () -> "" + callsSince(before));
    }

    /**
     * The last registration counts, and the end of any stream disconnects the plugin that has
     * registered last, as in {@code stream-ends-and-second-plugin}.
     */
    @Test
    void secondPluginOfAResource() throws Exception {
        Path dir = temp.resolve("other");
        Path plugins = dir.resolve("device-plugins");
        Set<String> two = Set.copyOf(new TreeSet<>(GPUS).headSet("GPU-5c1a2"));
        try (GrpcSockets grpc = new GrpcSockets();
                TestKubelet kubelet = TestKubelet.start(dir);
                OtherPlugin first = OtherPlugin.serve(grpc, plugins.resolve("first.sock"), GPUS)) {
            OtherPlugin second = OtherPlugin.serve(grpc, plugins.resolve("second.sock"), two);
            second.register(kubelet.socket());
            kubelet.awaitHealthy(TestKubelet.GPU, two);
            assertEquals(
                    recorded("stream-ends-and-second-plugin/second-plugin.jsonl"),
                    settled(kubelet.calls()));
            first.register(kubelet.socket());
            kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
            assertEquals(
                    recorded("stream-ends-and-second-plugin/plugin.jsonl"),
                    settled(kubelet.calls()).subList(3, 6));
            assertEquals(0, first.left());
            second.close();
            kubelet.awaitHealthy(TestKubelet.GPU, Set.of());
        }
    }

    /** As in {@code device-vanishes-during-allocate}, where a real kubelet has died. */
    @Test
    void deviceThatVanishesEndsTheKubelet() throws Exception {
        Path dir = temp.resolve("other");
        TestDevicePlugin plugin = new TestDevicePlugin(GPUS);
        try (TestKubelet kubelet = TestKubelet.start(dir);
                KubeletLink link = KubeletLink.open(dir, Processes.ofThisMachine())) {
            link.serve(List.of(new Resource(TestKubelet.GPU, plugin)));
            kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
            kubelet.admit(TestPod.of("good", 1));
            assertFalse(kubelet.panicked());
            Set<String> rest = Set.copyOf(new TreeSet<>(GPUS).tailSet("GPU-5c1a2"));
            plugin.whileAllocating(() -> {
                plugin.list(rest, rest);
                kubelet.awaitHealthy(TestKubelet.GPU, rest);
            });
            kubelet.admit(TestPod.of("van", 1));
            assertTrue(kubelet.panicked());
        }
    }

    @Test
    void checkpointHasTheFormOfTheRecordedOne() throws IOException {
        TestPod pod = TestPod.of("kr", 2);
        kubelet.admit(pod);
        String file = "kubelet_internal_checkpoint";
        JsonNode ours = JSON.readTree(temp.resolve("device-plugins").resolve(file).toFile());
        JsonNode theirs =
                JSON.readTree(Project.fixture("k8s/kubelet-restart-plugin-alive/" + file).toFile());
        assertEquals(names(theirs, ""), names(ours, ""));
        assertEquals(
                theirs.at("/Data/RegisteredDevices/nvidia.com~1gpu"),
                ours.at("/Data/RegisteredDevices/nvidia.com~1gpu"));
    }

    /** All names of fields but those of resources. */
    private static Set<String> names(JsonNode json, String above) {
        Set<String> names = new TreeSet<>();
        json.properties()
                .forEach(it -> {
                    String name = above + "/" + it.getKey();
                    if (!name.contains("/jnvdocker.io")) {
                        names.add(name);
                        names.addAll(names(it.getValue(), name));
                    }
                });
        json.forEach(it -> {
            if (json.isArray()) {
                names.addAll(names(it, above));
            }
        });
        return names;
    }
}
