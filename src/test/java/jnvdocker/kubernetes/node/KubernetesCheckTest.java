package jnvdocker.kubernetes.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.doctor.Findings;
import jnvdocker.host.Host;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

class KubernetesCheckTest {
    private static final String FILE =
            "OK: /var/run/cdi/jnvdocker-pods.json has a device for each GPU";

    private static final String UNTRIED = "UNKNOWN: the kubelet has not been offered the GPUs yet";

    @TempDir Path directory;
    private Path plugins;

    @BeforeEach
    void makeDirectory() throws IOException {
        plugins = Files.createDirectory(directory.resolve("device-plugins"));
    }

    private ServerSocketChannel kubelet() throws IOException {
        ServerSocketChannel kubelet = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        kubelet.bind(UnixDomainSocketAddress.of(plugins.resolve("kubelet.sock")));
        return kubelet;
    }

    private TestingKubernetes enabled(PluginRegistration.State... states) {
        return new TestingKubernetes(
                true,
                directory,
                List.of(),
                List.of(states).stream()
                        .map(state ->
                                new PluginRegistration("nvidia.com/gpu", state, Instant.EPOCH))
                        .toList(),
                Optional.empty(),
                Optional.empty());
    }

    /** One whose pods get no CDI devices. */
    private TestingKubernetes nodesAlone(
            Optional<Refusal> fault, int gpusOfPods, boolean byClaims) {
        return new TestingKubernetes(
                true,
                directory,
                List.of(),
                List.of(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                fault,
                gpusOfPods,
                byClaims);
    }

    private List<String> findings(KubernetesFacts facts) throws IOException {
        Findings found = new Findings();
        new KubernetesCheck(Host.at(directory), facts).findings(found);
        return found.all().stream().map(it -> it.state() + ": " + it.line()).toList();
    }

    @Test
    void podsMayGetNodesAlone() throws IOException {
        TestingKubernetes facts = nodesAlone(Optional.empty(), 0, false);
        assertEquals(
                "OK: pods get device nodes and no CDI devices (cdi = false)",
                findings(facts).getLast());
    }

    @Test
    void kubeletWhosePodsDoNotStartIsNamed() throws IOException {
        TestingKubernetes facts =
                nodesAlone(
                        Optional.of(new Refusal("it makes no cgroups", "have it make them")),
                        0,
                        false);
        assertTrue(findings(facts).contains("WRONG: it makes no cgroups; have it make them"));
    }

    @Test
    void hostWithoutAKubeletHasNothingToSay() throws IOException {
        assertEquals(List.of(), findings(TestingKubernetes.none(directory)));
        // What a kubelet that was stopped leaves behind.
        kubelet().close();
        assertEquals(List.of(), findings(TestingKubernetes.none(directory)));
    }

    @Test
    void kubeletThatIsNotServedIsAHint() throws IOException {
        try (ServerSocketChannel _ = kubelet()) {
            assertEquals(
                    List.of(
                            "HINT: a kubelet runs here ("
                                    + directory
                                    + "), and its pods get no GPUs from jnvdocker; write enabled ="
                                    + " true below [kubernetes] in /etc/jnvdocker/config.toml, then"
                                    + " run 'jnvdocker gpu reload'"),
                    findings(TestingKubernetes.none(directory)));
        }
    }

    @Test
    void registrationIsReportedAndTheCheckpointIsRead() throws IOException {
        try (ServerSocketChannel _ = kubelet()) {
            String registered = "OK: the kubelet gives pods that request nvidia.com/gpu our GPUs";
            assertEquals(
                    List.of(registered, FILE, "OK: the kubelet has given no device to a pod yet"),
                    findings(enabled(new PluginRegistration.Registered())));
            Path checkpoint = plugins.resolve("kubelet_internal_checkpoint");
            Files.writeString(checkpoint, "{}");
            assertEquals(
                    List.of(registered, FILE, "OK: the kubelet's checkpoint can be read"),
                    findings(enabled(new PluginRegistration.Registered())));
            Files.writeString(checkpoint, "{");
            assertEquals(
                    "WRONG: "
                            + checkpoint
                            + " is not JSON, so that pods are not known; restart the kubelet, which"
                            + " rewrites it",
                    findings(enabled(new PluginRegistration.Registered())).getLast());
        }
    }

    /** It was deleted, and a kubelet writes it again with the next device. */
    @Test
    void checkpointThatIsGoneWhilePodsHoldGpusIsWrong() throws IOException {
        try (ServerSocketChannel _ = kubelet()) {
            TestingKubernetes facts = nodesAlone(Optional.empty(), 1, false);
            assertEquals(
                    "WRONG: the kubelet's checkpoint is gone while pods hold 1 GPU: a kubelet that"
                            + " starts again does not know that; start a pod with a GPU, at which"
                            + " the kubelet writes its checkpoint again, before you restart it",
                    findings(facts).getLast());
        }
    }

    @Test
    void whateverKeepsPodsFromGpusIsNamed() throws IOException {
        assertEquals(
                List.of(
                        "WRONG: no kubelet answers in "
                                + directory
                                + ", so no pod gets nvidia.com/gpu; start the kubelet, or set"
                                + " kubelet_dir below [kubernetes] in /etc/jnvdocker/config.toml",
                        "WRONG: another device plugin (nvidia-gpu.sock) gives pods nvidia.com/gpu,"
                                + " whoever holds the GPUs; remove it from this node; jnvdocker"
                                + " then registers by itself",
                        "WRONG: nvidia.com/gpu is not given to pods as it should be: it is busy;"
                                + " wait",
                        FILE),
                findings(
                        enabled(
                                new PluginRegistration.NoKubelet(),
                                new PluginRegistration.Competitor("nvidia-gpu.sock"),
                                new PluginRegistration.Failed(new Refusal("it is busy", "wait")))));
    }

    @Test
    void filesThatAreMissingAreWrongAndDevicesThatAreMissingAHint() throws IOException {
        Refusal why = new Refusal("no driver is loaded", "load it");
        assertEquals(
                List.of(UNTRIED, "WRONG: pods get no driver's files: no driver is loaded; load it"),
                findings(
                        new TestingKubernetes(
                                true,
                                directory,
                                List.of(),
                                List.of(),
                                Optional.of(why),
                                Optional.empty())));
        assertEquals(
                List.of(
                        UNTRIED,
                        "HINT: pods get their GPUs without CDI devices: no driver is loaded; load"
                                + " it"),
                findings(
                        new TestingKubernetes(
                                true,
                                directory,
                                List.of(),
                                List.of(),
                                Optional.empty(),
                                Optional.of(why))));
    }

    /** A kubelet gives a pod with a claim nothing else. */
    @Test
    void claimsWithoutCdiDevicesAreWrong() throws IOException {
        TestingKubernetes facts = nodesAlone(Optional.empty(), 1, true);
        assertEquals(
                List.of(
                        UNTRIED,
                        "WRONG: pods with claims get no CDI devices (cdi = false); take that key"
                                + " out of /etc/jnvdocker/config.toml"),
                findings(facts));
    }

    @Test
    void idsOfNoGpuAreNamed() throws IOException {
        Path driver = Files.createDirectories(directory.resolve("proc/driver/nvidia"));
        Files.writeString(
                driver.resolve("version"),
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Thu Jun  5\n");
        Files.createDirectory(driver.resolve("gpus"));
        assertEquals(
                List.of(
                        UNTRIED,
                        "WRONG: kubernetes.gpus in the configuration lists '9', which matches no"
                                + " GPU on this host; correct that ('jnvdocker gpu ls' shows the"
                                + " GPUs), then run 'jnvdocker gpu reload'",
                        FILE),
                findings(
                        new TestingKubernetes(
                                true,
                                directory,
                                List.of("9"),
                                List.of(),
                                Optional.empty(),
                                Optional.empty())));
    }
}
