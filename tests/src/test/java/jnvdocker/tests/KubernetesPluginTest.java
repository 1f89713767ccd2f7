package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.ByteString;

import io.grpc.Status;

import jnvdocker.attack.Attack;
import jnvdocker.kubernetes.kubelet.Calls;
import jnvdocker.kubernetes.kubelet.DeviceIds;
import jnvdocker.kubernetes.kubelet.GrpcException;
import jnvdocker.kubernetes.kubelet.GrpcSockets;
import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Http;
import jnvdocker.tests.world.KubeletMessages;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.PodProcesses;
import jnvdocker.tests.world.Registry;
import jnvdocker.tests.world.StartingGate;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestKubelet;
import jnvdocker.tests.world.TestPod;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Pods of a kubelet beside programs of the host, by a daemon that is the kubelet's device plugin.
 */
@Attack(
        by = "a kubelet",
        what = "makes no cgroups for pods (`cgroupsPerQOS: false`), and a pod is deleted by force",
        result = "containers with GPUs do not start; their events and `gpu doctor` say why")
class KubernetesPluginTest extends OneHostTest {
    /** For what takes a moment on a machine that has nothing else to do. */
    private static final Duration LONG = Duration.ofSeconds(10);

    private static TestDaemon daemon;
    private static TestKubelet kubelet;
    private static Path directory;
    private static Path holdopen;
    private static List<String> uuids;
    private static Registry registry;
    private static GrpcSockets grpc;

    private final PodProcesses processes = new PodProcesses();
    private final List<TestPod> pods = new ArrayList<>();
    private final List<Process> programs = new ArrayList<>();

    @BeforeAll
    static void open() throws IOException {
        directory = Directories.make("kubelet");
        holdopen = directory.resolve("holdopen");
        CProgram.put("holdopen", holdopen);
        kubelet = TestKubelet.start(directory);
        daemon = new TestDaemon(host);
        daemon.config("[kubernetes]\nenabled = true\nkubelet_dir = \"" + directory + "\"\n");
        registry = new Registry(daemon);
        grpc = new GrpcSockets();
        uuids = gpus().findValuesAsText("uuid");
        awaitHealthy(0, 1, 2, 3);
    }

    @AfterAll
    static void close() throws IOException {
        grpc.close();
        daemon.close();
        kubelet.close();
        Directories.remove(directory);
    }

    @AfterEach
    void nothingIsLeft() {
        kubelet.hang(false);
        programs.forEach(it -> it.destroyForcibly().onExit().join());
        pods.forEach(kubelet::delete);
        processes.close();
        awaitHealthy(0, 1, 2, 3);
        awaitNoLease();
        assertFalse(kubelet.panicked());
    }

    private static JsonNode gpus() {
        return daemon.jnvdocker("gpu", "ls", "--json").run().json();
    }

    private static Set<String> ids(int... gpus) {
        Set<String> ids = new TreeSet<>();
        for (int gpu : gpus) {
            ids.add(uuids.get(gpu));
        }
        return ids;
    }

    private static void awaitHealthy(int... gpus) {
        kubelet.awaitHealthy(TestKubelet.GPU, ids(gpus));
    }

    private TestPod pod(String name, int gpus) {
        TestPod pod = TestPod.named(name, gpus);
        pods.add(pod);
        return pod;
    }

    /** Admits it, and returns the indices of its GPUs. */
    private static List<Integer> admit(TestPod pod) {
        TestKubelet.Admitted admitted =
                assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(pod));
        return admitted.devices().get("main").stream().map(uuids::indexOf).sorted().toList();
    }

    private static String rejected(TestPod pod) {
        return assertInstanceOf(TestKubelet.Rejected.class, kubelet.admit(pod)).message();
    }

    /** Starts its container, beside the process that every pod has. */
    private void start(TestPod pod) {
        processes.start(pod, "sleep", "1000");
        assertInstanceOf(TestKubelet.Running.class, kubelet.start(pod, "main"));
    }

    private static Command gpuRun(Object... words) {
        List<Object> all = new ArrayList<>(List.of("gpu", "run"));
        all.addAll(List.of(words));
        return daemon.jnvdocker(all.toArray());
    }

    /** Runs a program and waits until it holds its GPU, which it has only reserved before. */
    private Process program(int gpu) {
        Process process = gpuRun("--gpus", "device=" + gpu, "sleep", "1000").start();
        programs.add(process);
        Lab.await(() -> isHeld(gpu) ? List.of() : List.of("GPU " + gpu + " is not held"));
        return process;
    }

    private static boolean isHeld(int gpu) {
        return registry.live().stream()
                .anyMatch(lease -> !lease.reservation() && lease.minors().containsKey(gpu));
    }

    private static String out(Object... words) {
        return daemon.jnvdocker(words).run().ok().out();
    }

    @Test
    void podIsNamedWhereverItsGpuIsShown() throws Exception {
        TestPod pod = pod("train-7", 1);
        int gpu = admit(pod).getFirst();
        Lab.await(() -> {
            String why = out("gpu", "why", gpu);
            return why.contains(" is reserved by pod team-a/train-7 since ")
                    ? List.of()
                    : List.of(why);
        });
        start(pod);
        processes.start(pod, holdopen, host.directory().resolve("dev/nvidia" + gpu));
        for (String command : List.of("ls", "leases")) {
            String shown = out("gpu", command);
            assertTrue(shown.contains("kubernetes:team-a   pod team-a/train-7   "), shown);
        }
        JsonNode shown = gpus().path(gpu);
        assertEquals("held", shown.path("state").asText());
        assertEquals("team-a/train-7", shown.path("pod").asText());
        assertTrue(shown.path("note").isNull(), shown::toString);
        String why = out("gpu", "why", gpu);
        assertTrue(why.contains(" is held by pod team-a/train-7 since "), why);
        assertTrue(why.contains("kubectl delete pod --namespace team-a train-7"), why);
        String metrics = Http.get(UnixDomainSocketAddress.of(daemon.socket()), "/metrics").body();
        assertTrue(metrics.contains("container=\"team-a/train-7\""), metrics);
        Command.Result refused = gpuRun("--gpus", "device=" + gpu, "true").run();
        assertEquals(125, refused.exitCode());
        assertTrue(refused.err().contains(" is held by pod team-a/train-7 since "), refused::err);
        assertEquals(ids(0, 1, 2, 3), kubelet.healthy(TestKubelet.GPU));
        kubelet.delete(pod);
        processes.end(pod);
        awaitNoLease();
        String past = out("gpu", "leases", "--all");
        assertTrue(past.contains("pod team-a/train-7"), past);
        assertTrue(out("gpu", "history").contains("\nkubernetes:team-a "));
    }

    private static void awaitNoLease() {
        Lab.await(() -> registry.live().stream().map(Object::toString).toList());
    }

    /** The pods of the device plugin have no resource claims. */
    @Test
    void podIsNamedThoughTheKubeletsFileOfClaimsCannotBeRead() throws Exception {
        Path claims = directory.resolve("dra_manager_state");
        Files.writeString(claims, "{\"Data\":7}");
        try {
            int gpu = admit(pod("plain", 1)).getFirst();
            Lab.await(() -> {
                String why = out("gpu", "why", gpu);
                return why.contains(" is reserved by pod team-a/plain since ")
                        ? List.of()
                        : List.of(why);
            });
        } finally {
            Files.delete(claims);
        }
    }

    /** The kubelet requests no unhealthy GPU, so its message names no holder. */
    @Test
    void nodeNamesTheHoldersForWhomAPodIsRejected() {
        List<Process> holders = List.of(program(0), program(1), program(2), program(3));
        awaitHealthy();
        String why = rejected(pod("late", 1));
        assertTrue(why.contains("no healthy devices present"), why);
        for (int gpu = 0; gpu < holders.size(); gpu++) {
            String holder = "process sleep (pid " + holders.get(gpu).pid() + ")";
            assertTrue(out("gpu", "why", gpu).contains(holder));
            assertTrue(out("gpu", "ls").contains(holder.substring("process ".length())));
        }
    }

    @Test
    void programTakesAGpuFromTheListAndGivesItBack() {
        int before = kubelet.lists();
        Process program = program(2);
        awaitHealthy(0, 1, 3);
        assertEquals(before + 1, kubelet.lists());
        program.destroyForcibly().onExit().join();
        awaitHealthy(0, 1, 2, 3);
        assertEquals(before + 2, kubelet.lists());
    }

    /** A kubelet that does not know yet of those that others have taken. */
    private static GrpcException refusal(GrpcSockets grpc, Set<String> ids) {
        return assertThrows(
                GrpcException.class,
                () -> grpc.request(plugin(), Calls.ALLOCATE, allocation(ids), LONG));
    }

    private static Path plugin() {
        return directory.resolve("device-plugins/jnvdocker-nvidia.com-gpu.sock");
    }

    private static ByteString allocation(Set<String> ids) {
        return new DeviceIds(List.of(List.copyOf(ids))).bytes();
    }

    @Test
    void nothingIsReservedWhenOneOfTwoIsTaken() {
        Process program = program(1);
        awaitHealthy(0, 2, 3);
        GrpcException refusal = refusal(grpc, ids(0, 1));
        assertEquals(Status.Code.FAILED_PRECONDITION, refusal.code());
        assertTrue(
                refusal.getMessage()
                        .matches(
                                "jnvdocker: GPU 1 \\(GPU-5c1a1003\\) is held by \\S+'s process"
                                        + " sleep \\(pid "
                                        + program.pid()
                                        + "\\) since \\d\\d:\\d\\d; make the pod again, which may"
                                        + " get others then"),
                refusal::getMessage);
        assertEquals(List.of(), reservations());
    }

    private static List<Registry.Lease> reservations() {
        return registry.live().stream().filter(Registry.Lease::reservation).toList();
    }

    /** All at one instant: a pod's reservation, or a program. */
    @Test
    void oneOfSixteenGetsTheGpu() throws Exception {
        int winners = 1;
        // A reservation lasts for seconds, since the kubelet has not reported it.
        for (int round = 0; round < 3 && winners == 1; round++) {
            List<Process> all =
                    StartingGate.start(
                            16,
                            () ->
                                    gpuRun(
                                            "--gpus",
                                            "device=3",
                                            "sh",
                                            "-c",
                                            "echo got; exec sleep 1000"));
            programs.addAll(all);
            List<CompletableFuture<Boolean>> pods =
                    Stream.generate(() -> CompletableFuture.supplyAsync(this::isAccepted))
                            .limit(4)
                            .toList();
            winners = 0;
            for (Process program : all) {
                if ("got".equals(program.inputReader().readLine())) {
                    winners++;
                } else {
                    String why = new String(program.getErrorStream().readAllBytes());
                    assertTrue(why.contains("GPU 3"), why);
                }
            }
            // Behind a reservation, whosever it is, a pod is next in line, and has nothing yet.
            boolean accepted = pods.stream().filter(CompletableFuture::join).count() > 0;
            assertTrue(winners == 1 || winners == 0 && accepted, winners + " programs have it");
            assertEquals(1, registry.live().size());
            assertEquals(List.of(), registry.heldTwice());
            all.forEach(it -> it.destroyForcibly().onExit().join());
            awaitNoLease();
        }
    }

    private boolean isAccepted() {
        try {
            grpc.request(plugin(), Calls.ALLOCATE, allocation(ids(3)), LONG);
            return true;
        } catch (GrpcException e) {
            assertEquals(Status.Code.FAILED_PRECONDITION, e.code());
            return false;
        }
    }

    @Test
    void nextPodWaitsForTheProcessesOfOneThatWasDeletedByForce() throws Exception {
        TestPod old = pod("old", 4);
        admit(old);
        start(old);
        kubelet.forceDelete(old);
        TestPod next = pod("next", 1);
        int gpu = admit(next).getFirst();
        GrpcException refusal =
                assertThrows(
                        GrpcException.class,
                        () ->
                                grpc.request(
                                        plugin(),
                                        Calls.START,
                                        KubeletMessages.start(List.of(uuids.get(gpu))),
                                        Duration.ofSeconds(20)));
        assertEquals(Status.Code.UNAVAILABLE, refusal.code());
        assertTrue(
                refusal.getMessage()
                        .matches(
                                "jnvdocker: GPU \\d \\(\\S+\\) is held by pod team-a/old since"
                                        + " \\d\\d:\\d\\d; wait, or delete the pod"),
                refusal::getMessage);
        processes.prepare(next);
        processes.start(next, "sleep", "1000"); // its sandbox
        CompletableFuture<TestKubelet.Start> start =
                CompletableFuture.supplyAsync(() -> kubelet.start(next, "main"));
        Lab.await(() -> {
            JsonNode queue = daemon.jnvdocker("gpu", "queue", "--json").run().json();
            return queue.at("/0/pod").asText().equals("team-a/next")
                    ? List.of()
                    : List.of(queue.toString());
        });
        assertFalse(start.isDone());
        processes.end(old);
        assertInstanceOf(TestKubelet.Running.class, start.get(60, TimeUnit.SECONDS));
        assertEquals("nobody waits for GPUs\n", out("gpu", "queue"));
        assertTrue(out("gpu", "why", gpu).contains("team-a/next"));
    }

    /** Its pod that is deleted by force would share its GPUs with the next one. */
    @Test
    void podOfAKubeletThatMakesNoCgroupsForPodsDoesNotStart() {
        TestPod pod = pod("apart", 1);
        admit(pod);
        processes.startApart(pod, "sleep", "1000");
        String why =
                assertInstanceOf(TestKubelet.Refused.class, kubelet.start(pod, "main")).message();
        assertTrue(why.contains("; set cgroupsPerQOS to true in the kubelet's"), why);
        String found = daemon.jnvdocker("gpu", "doctor").run().out();
        assertTrue(found.contains("; set cgroupsPerQOS to true in the kubelet's"), found);
        processes.end(pod);
        start(pod);
    }

    @Test
    void kubeletThatDoesNotReportItsPodsChangesNothing() {
        TestPod held = pod("held", 1);
        admit(held);
        start(held);
        kubelet.hang(true);
        TestPod pod = pod("train-8", 1);
        long begun = System.nanoTime();
        int gpu = admit(pod).getFirst();
        assertTrue(System.nanoTime() - begun < LONG.toNanos());
        start(pod);
        String why = out("gpu", "why", gpu);
        assertTrue(why.contains(pod.uid()), why);
        assertEquals(2, registry.live().size());
        kubelet.hang(false);
        Lab.await(() ->
                out("gpu", "why", gpu).contains("team-a/train-8")
                        ? List.of()
                        : List.of("it is not named"));
    }
}
