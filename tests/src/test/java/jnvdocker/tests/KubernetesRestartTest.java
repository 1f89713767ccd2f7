package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.kubernetes.kubelet.GrpcSockets;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.OtherPlugin;
import jnvdocker.tests.world.PodProcesses;
import jnvdocker.tests.world.Registry;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestKubelet;
import jnvdocker.tests.world.TestPod;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Stream;

/** Pods keep their GPUs whatever ends and starts again: daemon, kubelet, host. */
class KubernetesRestartTest extends OneHostTest {
    private static final String BOOT_ID = "proc/sys/kernel/random/boot_id";

    private final PodProcesses processes = new PodProcesses();
    private final TestPod pod = TestPod.named("train-7", 2);
    private Path directory;
    private TestDaemon daemon;
    private TestKubelet kubelet;
    private Set<String> uuids;
    private Set<String> its;

    @BeforeEach
    void open() throws IOException {
        directory = Directories.make("kubelet");
        kubelet = TestKubelet.start(directory);
        daemon = new TestDaemon(host);
        daemon.config("[kubernetes]\nenabled = true\nkubelet_dir = \"" + directory + "\"\n");
        host.write(BOOT_ID, UUID.randomUUID() + "\n");
        uuids =
                new TreeSet<>(
                        daemon.jnvdocker("gpu", "ls", "--json")
                                .run()
                                .json()
                                .findValuesAsText("uuid"));
        kubelet.awaitHealthy(TestKubelet.GPU, uuids);
        its =
                assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(pod))
                        .devices()
                        .get("main");
        processes.start(pod, "sleep", "1000");
        start();
    }

    @AfterEach
    void close() throws IOException {
        assertFalse(kubelet.panicked());
        daemon.close();
        kubelet.close();
        processes.close();
        Directories.remove(directory);
    }

    private void start() {
        TestKubelet.Start start = kubelet.start(pod, "main");
        assertInstanceOf(TestKubelet.Running.class, start, start::toString);
    }

    private String ls() {
        return daemon.jnvdocker("gpu", "ls").run().ok().out();
    }

    private List<Registry.Lease> leases() {
        return new Registry(daemon).live();
    }

    private static int lines(String text, String part) {
        return (int) text.lines().filter(it -> it.contains(part)).count();
    }

    @Test
    void newDaemonAndNewKubeletLeaveThePodItsLeases() throws IOException {
        List<Registry.Lease> before = leases();
        assertEquals(2, before.size());
        daemon.kill();
        kubelet.awaitHealthy(TestKubelet.GPU, Set.of());
        assertEquals(2, lines(ls(), "team-a/train-7"));
        assertEquals(before, leases());
        kubelet.awaitHealthy(TestKubelet.GPU, uuids);
        start();
        kubelet.restart();
        kubelet.awaitHealthy(TestKubelet.GPU, uuids);
        kubelet.admit(pod);
        start();
        assertEquals(before, leases());
        kubelet.delete(pod);
        processes.end(pod);
        Lab.await(() -> leases().stream().map(Object::toString).toList());
    }

    /** Then the kubelet starts what it has in its file, and requests no device. */
    @Test
    void rebootGivesThePodItsGpusAgain() throws IOException {
        daemon.stop();
        kubelet.stop();
        kubelet.killAll();
        processes.end(pod);
        host.write(BOOT_ID, UUID.randomUUID() + "\n");
        ls();
        assertEquals(List.of(), leases());
        kubelet.restart();
        kubelet.awaitHealthy(TestKubelet.GPU, uuids);
        List<String> calls = kubelet.calls();
        kubelet.admit(pod);
        assertEquals(calls, kubelet.calls());
        start();
        assertEquals(2, lines(ls(), "team-a/train-7"));
    }

    @Test
    void leasesOfALostRegistryAreThereAgainBeforeAnybodyIsServed() throws IOException {
        daemon.stop();
        try (Stream<Path> files = Files.list(daemon.state())) {
            for (Path file : files.filter(it -> it.toString().contains("registry")).toList()) {
                Files.delete(file);
            }
        }
        kubelet.hang(true);
        Command.Result refused =
                daemon.jnvdocker("gpu", "run", "--gpus", "device=" + String.join(",", its), "true")
                        .run();
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(refused.err().contains("pod " + pod.uid()), refused::err);
        kubelet.hang(false);
        Lab.await(
                () -> lines(ls(), "team-a/train-7") == 2 ? List.of() : List.of("it is not named"));
    }

    /** The daemon has 128 MB of memory. */
    @Test
    void brokenAnswersAndFilesOfAKubeletChangeNothing() throws IOException {
        List<Registry.Lease> before = leases();
        kubelet.list(Optional.of(TestKubelet.namelessPods(15 << 20)));
        String entry = "{\"PodUID\":\"%s\",\"DeviceIDs\":[[[[]]]]},".formatted(pod.uid());
        for (String file :
                List.of(
                        "[" + "[],".repeat(5 << 20),
                        "{\"Data\":{\"PodDeviceEntries\":[" + entry.repeat(200_000),
                        "{\"Data\":{\"RegisteredDevices\":{\"a\":["
                                + "\"GPU-1\",".repeat(1_000_000))) {
            Files.writeString(kubelet.checkpoint(), file);
            assertRestarts(before);
        }
        Files.delete(kubelet.checkpoint());
        Command.of("mkfifo", kubelet.checkpoint()).run().ok();
        assertRestarts(before);
        kubelet.list(Optional.empty());
    }

    private void assertRestarts(List<Registry.Lease> leases) {
        daemon.kill();
        kubelet.awaitHealthy(TestKubelet.GPU, Set.of());
        long pid = started();
        kubelet.awaitHealthy(TestKubelet.GPU, uuids);
        assertEquals(leases, leases());
        assertEquals(pid, started());
    }

    private long started() {
        ls();
        return daemon.pid().orElseThrow();
    }

    @Test
    void nothingIsRegisteredBesideAnotherPlugin() throws IOException {
        try (GrpcSockets grpc = new GrpcSockets()) {
            daemon.stop();
            Path socket = directory.resolve("device-plugins/nvidia-gpu.sock");
            try (OtherPlugin other = OtherPlugin.serve(grpc, socket, uuids)) {
                other.register(kubelet.socket());
                kubelet.awaitHealthy(TestKubelet.GPU, uuids);
                int registered = registered();
                Lab.await(() -> {
                    String reported = daemon.jnvdocker("gpu", "doctor").run().out();
                    return reported.contains("another device plugin (nvidia-gpu.sock) gives pods")
                            ? List.of()
                            : List.of(reported);
                });
                assertEquals(registered, registered());
            }
            Lab.await(() -> {
                String reported = daemon.jnvdocker("gpu", "doctor").run().out();
                return reported.contains(
                                "the kubelet gives pods that request nvidia.com/gpu our GPUs")
                        ? List.of()
                        : List.of(reported);
            });
            kubelet.awaitHealthy(TestKubelet.GPU, uuids);
        }
    }

    private void configure(String keys) {
        daemon.config("[kubernetes]\n" + keys + "\nkubelet_dir = \"" + directory + "\"\n");
        daemon.jnvdocker("gpu", "reload").run().ok();
    }

    @Test
    void keysBelowKubernetesCountWithoutARestart() throws IOException {
        List<Registry.Lease> before = leases();
        long pid = started();
        configure("enabled = false");
        kubelet.awaitHealthy(TestKubelet.GPU, Set.of());
        configure("enabled = true\nresource = \"example.com/gpu\"");
        kubelet.awaitHealthy("example.com/gpu", uuids);
        assertEquals(Set.of(), kubelet.healthy(TestKubelet.GPU));
        configure("enabled = true");
        kubelet.awaitHealthy(TestKubelet.GPU, uuids);
        start();
        assertEquals(before, leases());
        assertEquals(pid, started());
    }

    @Test
    void doctorKnowsThatThereIsNoKubeletAsSoonAsTheDaemonAnswers() throws IOException {
        daemon.stop();
        kubelet.stop();
        String found = daemon.jnvdocker("gpu", "doctor").run().out();
        assertTrue(found.contains("no kubelet answers in " + directory), found);
    }

    private int registered() {
        return (int) kubelet.calls().stream().filter("Register"::equals).count();
    }
}
