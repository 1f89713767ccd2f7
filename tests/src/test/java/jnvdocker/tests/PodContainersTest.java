package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RecordingHelper;
import jnvdocker.tests.world.Registry;
import jnvdocker.tests.world.RuntimeProgram;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Containers of pods in our OCI runtime, with a device plugin on: the container may have the GPUs
 * that its pod holds, and no others. And what pods of any runtime get: nodes, the driver's files, a
 * CDI file.
 */
@Tag("root")
class PodContainersTest {
    private static final String UID = "0b4de7a7-22fb-4e8c-9d13-4e0b54a6a1c9";
    private static final String ON = "[kubernetes]\nenabled = true\nkubelet_dir = \"KUBELET\"\n";
    private static final ObjectMapper JSON = new ObjectMapper();

    private static DriverRoot host;
    private static TestDaemon daemon;
    private static Path bundle;
    private static RuntimeProgram runtime;

    @BeforeAll
    static void open() throws IOException {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535);
        daemon = new TestDaemon(host);
        enable();
        daemon.jnvdocker("gpu", "ls").run().ok();
        daemon.stop();
        hold();
        daemon.jnvdocker("gpu", "ls").run().ok();
        bundle = Directories.make("bundle");
        Path bin = Files.createDirectory(bundle.resolve("bin"));
        RecordingHelper _ = new RecordingHelper(bin, "runc");
        runtime =
                RuntimeProgram.of(
                        daemon,
                        bundle,
                        Project.tree().resolve("lib/oci/nvidia-container-runtime"),
                        bin.resolve("runc"));
    }

    /** As if the pod were about to run: no kubelet answers that it is not. */
    private static void hold() throws IOException {
        String boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        new Registry(daemon).holdForPod(UID, "team-a/train-7", uuid(1), 1, boot);
        new Registry(daemon).holdForPod(UID, "team-a/train-7", uuid(2), 2, boot);
    }

    private static void enable() {
        daemon.config(ON.replace("KUBELET", daemon.cdi().resolveSibling("kubelet").toString()));
    }

    @AfterAll
    static void close() {
        daemon.close();
        host.close();
        Directories.remove(bundle);
    }

    private static Path gpu(int index) throws IOException {
        try (Stream<Path> gpus = Files.list(host.directory().resolve("proc/driver/nvidia/gpus"))) {
            return gpus.sorted().skip(index).findFirst().orElseThrow();
        }
    }

    private static String uuid(int index) throws IOException {
        String text = Files.readString(gpu(index).resolve("information"));
        return text.replaceFirst("(?s).*GPU UUID:\\s+(\\S+).*", "$1");
    }

    // ---- the OCI runtime ----

    private static String device(int minor) {
        return "{'path':'/dev/nvidia%d','type':'c','major':195,'minor':%d}"
                .formatted(minor, minor)
                .replace('\'', '"');
    }

    /** A container as containerd has its runtime make it. */
    private static String spec(List<String> devices, String rules, String more) {
        return """
        {"process":{"env":["PATH=/bin","NVIDIA_VISIBLE_DEVICES=all"%s]},
         "annotations":{"io.kubernetes.cri.container-type":"container",
           "io.kubernetes.cri.sandbox-uid":"%s","io.kubernetes.cri.sandbox-name":"train-7",
           "io.kubernetes.cri.sandbox-namespace":"team-a"},
         "mounts":[],
         "linux":{"devices":[%s],"resources":{"devices":[{"allow":false,"access":"rwm"}%s]}}}
        """
                .formatted(more, UID, String.join(",", devices), rules);
    }

    /** Has the container created, and returns how the real runtime gets it. */
    private static JsonNode edited(String spec) throws IOException {
        Command.Result result = create(spec);
        assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), () -> result + log());
        return JSON.readTree(bundle.resolve("config.json").toFile());
    }

    private static Command.Result create(String spec) throws IOException {
        Files.deleteIfExists(bundle.resolve("log"));
        Files.writeString(bundle.resolve("config.json"), spec);
        return Command.of(
                        runtime.path(),
                        "--root",
                        "/run/containerd/runc/k8s.io",
                        "--log",
                        bundle.resolve("log"),
                        "--log-format",
                        "json",
                        "create",
                        "--bundle",
                        bundle,
                        "--pid-file",
                        bundle.resolve("init.pid"),
                        "c1")
                .run();
    }

    private static String log() {
        try {
            return Files.readString(bundle.resolve("log"));
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static List<String> nodes(JsonNode spec) {
        return spec.path("linux").path("devices").findValuesAsText("path");
    }

    private static void assertRefused(String spec, String why) throws IOException {
        Command.Result result = create(spec);
        assertEquals(1, result.exitCode(), result::toString);
        assertTrue(log().contains("jnvdocker: " + why), PodContainersTest::log);
    }

    @Test
    void containerHasExactlyItsNodesAndTheSearchPaths() throws IOException {
        JsonNode edited = edited(spec(List.of(device(1)), "", ""));
        assertEquals(
                List.of(
                        "/dev/nvidiactl",
                        "/dev/nvidia-uvm",
                        "/dev/nvidia-uvm-tools",
                        "/dev/nvidia1"),
                nodes(edited));
        List<String> variables = new ArrayList<>();
        edited.at("/process/env").forEach(it -> variables.add(it.asText()));
        assertEquals(
                List.of(
                        "PATH=/bin:/usr/local/nvidia/bin",
                        "NVIDIA_VISIBLE_DEVICES=" + uuid(1),
                        "LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64"),
                variables);
        assertEquals("/usr/local/nvidia", edited.at("/mounts/0/destination").asText());
        // Its pod's leases are the only ones.
        assertEquals(2, new Registry(daemon).live().size());
    }

    @Test
    void gpuThatThePodDoesNotHoldIsRefused() throws IOException {
        String why =
                "this container is given /dev/nvidia3, which its pod team-a/train-7 does not hold;"
                        + " leave these devices out";
        assertRefused(spec(List.of(device(1), device(3)), "", ""), why);
        assertRefused(
                spec(
                        List.of(),
                        ",{\"allow\":true,\"type\":\"c\",\"major\":195,\"minor\":3,\"access\":\"rw\"}",
                        ""),
                why);
        assertRefused(
                spec(List.of(device(1)), "", "").replace(UID, UID.replace('0', '1')),
                "this container is given /dev/nvidia1, which its pod team-a/train-7 does not hold");
    }

    @Test
    void imageIsCheckedAgainstTheDriver() throws IOException {
        assertRefused(
                spec(List.of(device(1)), "", ",\"NVIDIA_REQUIRE_CUDA=cuda>=99.0\""),
                "unsatisfied condition: cuda>=99.0");
    }

    /** An image's variables count for nothing: its pod has requested no GPU of the kubelet. */
    @Test
    void containerWithoutGpusOfThePluginHasNone() throws IOException {
        JsonNode edited = edited(spec(List.of(), "", ""));
        assertEquals(List.of(), nodes(edited));
        assertTrue(edited.toString().contains("NVIDIA_VISIBLE_DEVICES=void"), edited::toString);
        assertFalse(edited.toString().contains("/usr/local/nvidia"), edited::toString);
        assertRefused(
                spec(List.of(), "", "")
                        .replace("\"annotations\":{", "\"annotations\":{\"jnvdocker.gpus\":\"1\","),
                "the annotation jnvdocker.gpus of this pod does not give it GPUs");
        assertEquals(2, new Registry(daemon).live().size());
    }

    @Test
    void privilegedContainerSeesNoGpuOrIsRefused() throws IOException {
        String all = ",{\"allow\":true,\"access\":\"rwm\"}";
        List<String> every = Stream.of(0, 1, 2, 3).map(PodContainersTest::device).toList();
        assertEquals(List.of(), nodes(edited(spec(every, all, ""))));
        String given =
                spec(every, all, "")
                        .replace(
                                "\"mounts\":[]",
                                "\"mounts\":[{\"destination\":\"/usr/local/nvidia\",\"source\":\"/x\"}]");
        assertRefused(given, "a privileged container");
    }

    // ---- what pods of any runtime get ----

    private static Path cdiFile() {
        return daemon.cdi().resolve("jnvdocker-pods.json");
    }

    private static List<String> offered() {
        try {
            JsonNode devices = JSON.readTree(cdiFile().toFile()).path("devices");
            return devices.findValuesAsText("name");
        } catch (IOException e) {
            return List.of(e.toString());
        }
    }

    @Test
    void cdiFileFollowsTheGpusAndThePathTheDriver() throws IOException {
        List<String> all = List.of(uuid(0), uuid(1), uuid(2), uuid(3));
        await(all);
        Path driver = daemon.podDriver();
        assertTrue(Files.isSymbolicLink(driver));
        assertTrue(driver.toRealPath().endsWith(host.version()), driver.toRealPath()::toString);
        assertTrue(Files.isExecutable(driver.resolve("bin/nvidia-smi")));
        JsonNode file = JSON.readTree(cdiFile().toFile());
        assertEquals(driver.toString(), file.at("/containerEdits/mounts/0/hostPath").asText());
        Path gpu = gpu(3);
        Path away = host.directory().resolve("away");
        Files.move(gpu, away);
        try {
            await(all.subList(0, 3));
        } finally {
            Files.move(away, gpu);
        }
        fileGoesWhenThereAreNoPods();
        await(all);
    }

    /** Then their containers are as all others, and a pod of which nothing runs holds no GPU. */
    private static void fileGoesWhenThereAreNoPods() throws IOException {
        daemon.stop();
        daemon.config("");
        daemon.jnvdocker("gpu", "ls").run().ok();
        try {
            Lab.await(() -> Files.exists(cdiFile()) ? List.of(cdiFile() + " is there") : List.of());
            JsonNode edited = edited(spec(List.of(device(3)), "", ""));
            assertTrue(nodes(edited).contains("/dev/nvidia3"), edited::toString);
            assertEquals(Optional.empty(), new Registry(daemon).liveOf("?"));
        } finally {
            daemon.stop();
            hold();
            enable();
            daemon.jnvdocker("gpu", "ls").run().ok();
        }
    }

    private static void await(List<String> wanted) {
        Lab.await(() -> offered().equals(wanted) ? List.of() : List.of("offered are " + offered()));
    }

    @Test
    void nodeIsLabelledWithItsDriverAndGpus() {
        Map<String, String> labels = new TreeMap<>();
        String text = daemon.jnvdocker("k8s", "labels", "--nfd").run().ok().out();
        assertTrue(text.startsWith("# "), text);
        for (String line : text.lines().skip(1).toList()) {
            int equals = line.indexOf('=');
            labels.put(line.substring(0, equals), line.substring(equals + 1));
        }
        assertEquals("4", labels.get("nvidia.com/gpu.count"));
        assertEquals(host.version(), labels.get("nvidia.com/cuda.driver-version.full"));
        assertEquals(
                text.lines().skip(1).toList(),
                daemon.jnvdocker("k8s", "labels").run().ok().out().lines().toList());
    }
}
