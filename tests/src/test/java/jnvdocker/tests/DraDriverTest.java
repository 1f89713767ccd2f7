package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.PodProcesses;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.Registry;
import jnvdocker.tests.world.TestApiServer;
import jnvdocker.tests.world.TestClaim;
import jnvdocker.tests.world.TestClaimKubelet;
import jnvdocker.tests.world.TestClaimKubelet.Answer;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestKubelet;
import jnvdocker.tests.world.TestPod;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;

/** Pods with resource claims beside programs of the host, by a daemon that is the DRA driver. */
@Attack(
        by = "a user of a namespace",
        what = "deletes a pod with a resource claim by force, which runs on for its grace",
        result =
                "the GPU is tainted; before, the scheduler sent the next pod there, which waited"
                        + " beside free GPUs")
@Tag("tree")
class DraDriverTest {
    private static final DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535).slim();

    private static FakeNvml nvml;
    private static Path directory;
    private static TestKubelet kubelet;
    private static TestClaimKubelet claims;
    private static TestApiServer api;
    private static TestDaemon daemon;
    private static Registry registry;
    private static List<String> uuids;

    private final PodProcesses processes = new PodProcesses();
    private final List<Process> programs = new ArrayList<>();
    private final List<TestClaim> prepared = new ArrayList<>();

    @BeforeAll
    static void open() throws Exception {
        nvml = FakeNvml.of(host, "a100x8");
        directory = Directories.make("kubelet");
        kubelet = TestKubelet.start(directory);
        claims = new TestClaimKubelet(directory);
        api = TestApiServer.start(directory);
        daemon = new TestDaemon(host);
        daemon.config(config("dra"));
        registry = new Registry(daemon);
        uuids = daemon.jnvdocker("gpu", "ls", "--json").run().json().findValuesAsText("uuid");
        register();
        awaitDevices("", "", "", "");
    }

    /**
     * Registers the driver, until the daemon knows of it: a reload makes another driver, and its
     * sockets take the places of the last one's in a while. A kubelet would see that.
     */
    private static void register() {
        Lab.await(() -> {
            claims.register();
            String found = daemon.jnvdocker("gpu", "doctor").run().out();
            return found.contains("the kubelet gives pods that request gpu.jnvdocker our GPUs")
                    ? List.of()
                    : List.of(found);
        });
    }

    private static String config(String driver) {
        return """
        shareable = ["0"]
        [kubernetes]
        enabled = true
        driver = "%s"
        node = "%s"
        kubelet_dir = "%s"
        kubeconfig = "%s"
        """
                .formatted(driver, TestApiServer.NODE, directory, api.kubeconfig());
    }

    @AfterAll
    static void close() throws IOException {
        daemon.close();
        claims.close();
        kubelet.close();
        api.close();
        Directories.remove(directory);
    }

    @AfterEach
    void nothingIsLeft() {
        api.fail(0);
        programs.forEach(it -> it.destroyForcibly().onExit().join());
        prepared.forEach(it -> processes.end(it.pod()));
        prepared.forEach(it -> assertEquals("", claims.unprepare(it).error()));
        processes.close();
        Lab.await(() -> registry.live().stream().map(Object::toString).toList());
        awaitDevices("", "", "", "");
    }

    private static String device(int gpu) {
        return uuids.get(gpu).toLowerCase(Locale.ROOT);
    }

    /** Waits until the cluster has all GPUs, each with this taint, or with none. */
    private static void awaitDevices(String... taints) {
        List<String> wanted =
                IntStream.range(0, taints.length)
                        .mapToObj(i -> (device(i) + " " + taints[i]).strip())
                        .toList();
        awaitDevices(wanted);
    }

    private static void awaitDevices(List<String> wanted) {
        Lab.await(() -> {
            List<String> now = api.devices();
            return now.equals(wanted) ? List.of() : List.of(now + ", not " + wanted);
        });
    }

    private Process program(int gpu) throws IOException {
        return program("device=" + gpu);
    }

    private Process program(String gpus) throws IOException {
        Process program =
                daemon.jnvdocker(
                                "gpu",
                                "run",
                                "--gpus",
                                gpus,
                                "sh",
                                "-c",
                                "echo got; exec sleep 1000")
                        .start();
        programs.add(program);
        assertEquals("got", program.inputReader().readLine());
        return program;
    }

    /** A claim of a pod that has a cgroup, and no process yet. */
    private TestClaim claim(String pod, int... gpus) {
        TestClaim claim =
                TestClaim.of(
                        TestPod.named(pod, 0),
                        Arrays.stream(gpus).mapToObj(DraDriverTest::device).toList());
        processes.prepare(claim.pod());
        api.allocate(claim);
        prepared.add(claim);
        return claim;
    }

    private static String out(Object... words) {
        return daemon.jnvdocker(words).run().ok().out();
    }

    /** As a real API server has stored them. */
    @Test
    void devicesHaveTheAttributesThatTheRealServerHasTaken() throws IOException {
        JsonNode recorded =
                new ObjectMapper().readTree(Project.fixture("k8s/dra/slice.json").toFile());
        JsonNode now = api.slices().getFirst();
        for (String part : List.of("/spec/nodeName", "/spec/driver", "/spec/pool/name")) {
            assertEquals(recorded.at(part), now.at(part));
        }
        assertEquals(
                recorded.at("/metadata/ownerReferences/0/kind"),
                now.at("/metadata/ownerReferences/0/kind"));
        // NVML has answered by now.
        Lab.await(() -> {
            JsonNode device = device(api, 2);
            String memory = device.at("/capacity/memory/value").asText();
            return memory.equals("0") ? List.of(device.toString()) : List.of();
        });
        assertEquals(recorded.at("/spec/devices/2"), device(api, 2));
        awaitMemory("40448Mi");
        JsonNode shared =
                new ObjectMapper().readTree(Project.fixture("k8s/dra/slice-shared.json").toFile());
        // The least share is younger than the recording.
        ((ObjectNode) shared.at("/spec/devices/0/capacity/memory/requestPolicy"))
                .putObject("validRange")
                .put("min", "256Mi");
        assertEquals(shared.at("/spec/devices/0"), device(api, 0));
    }

    private static JsonNode device(TestApiServer api, int index) {
        return api.slices().getFirst().at("/spec/devices/" + index);
    }

    /** Waits until claims may have so much of GPU 0. */
    private static void awaitMemory(String wanted) {
        Lab.await(() -> {
            String now = device(api, 0).at("/capacity/memory/value").asText();
            return now.equals(wanted) ? List.of() : List.of(now + ", not " + wanted);
        });
    }

    private TestClaim share(String pod, String amount) {
        TestClaim claim =
                TestClaim.of(TestPod.named(pod, 0), List.of(device(0)), Optional.of(amount));
        processes.prepare(claim.pod());
        api.allocate(claim);
        prepared.add(claim);
        return claim;
    }

    @Test
    void claimsShareAGpuWithProgramsOfTheHost() throws IOException {
        TestClaim one = share("one", "10Gi");
        assertEquals(List.of("pod.jnvdocker/gpu=" + uuids.get(0)), claims.prepare(one).cdi());
        program("share=20G");
        // The scheduler knows by itself what claims have.
        awaitMemory("21887502Ki");
        awaitDevices("", "", "", "");
        TestClaim two = share("two", "10Gi");
        assertEquals("", claims.prepare(two).error());
        assertEquals("", claims.prepare(one).error());
        assertEquals(3, registry.live().size());
        assertEquals(
                "jnvdocker: no shareable GPU has 10GiB left (GPU 0: 0.9G of 42.4G); wait, or delete"
                        + " the pod",
                claims.prepare(share("three", "10Gi")).error());
        String whole = claims.prepare(claim("whole", 0)).error();
        assertTrue(whole.contains(" is shared by "), whole);
        String odd = claims.prepare(share("odd", "1500")).error();
        assertTrue(odd.contains("-gpu-8s5xs requests 1500 bytes of a GPU's memory; "), odd);
        out("gpu", "cordon", "0");
        awaitDevices("cordoned", "", "", "");
        out("gpu", "uncordon", "0");
        awaitDevices("", "", "", "");
        assertTrue(out("gpu", "why", 0).contains("pod team-a/one (share of 10GiB)"));
        daemon.kill();
        out("gpu", "ls");
        register();
        processes.end(one.pod());
        assertEquals("", claims.unprepare(one).error());
        assertEquals(2, registry.live().size());
        awaitMemory("21887502Ki");
    }

    @Test
    void sharedGpuIsHeldWhereAClusterKeepsNoShares() throws IOException {
        api.keepShares(false);
        api.wipe();
        program("share=20G");
        awaitDevices("held", "", "", "");
        awaitMemory("40Gi");
        api.keepShares(true);
        register();
        awaitDevices("", "", "", "");
        awaitMemory("21887502Ki");
    }

    @Test
    void gpuThatTheDriverHasLostIsUnhealthyInTheStatusOfItsPod() {
        List<String> sound = IntStream.range(0, 4).mapToObj(gpu -> device(gpu) + " 1").toList();
        awaitHealth(sound);
        nvml.add("0000:1f:00.0", "error nvmlDeviceGetUtilizationRates 15");
        List<String> lost = new ArrayList<>(sound);
        lost.set(3, device(3) + " 2 NVML says 'GPU is lost'");
        awaitHealth(lost);
        awaitDevices("", "", "", "sick");
        nvml.change(text -> text.replace("error nvmlDeviceGetUtilizationRates 15\n", ""));
        awaitHealth(sound);
    }

    private static void awaitHealth(List<String> wanted) {
        Lab.await(() -> {
            List<String> now = claims.health();
            return now.equals(wanted) ? List.of() : List.of(now + ", not " + wanted);
        });
    }

    @Test
    void gpuThatOthersHoldOrNobodyMayHaveIsTainted() throws IOException {
        program(2);
        awaitDevices("", "", "held", "");
        out("gpu", "cordon", "1");
        awaitDevices("", "cordoned", "held", "");
        out("gpu", "uncordon", "1");
        awaitDevices("", "", "held", "");
    }

    @Test
    void podHasItsGpusFromThePreparationOfItsClaimOn() {
        TestClaim claim = claim("train-7", 0, 3);
        Answer answer = claims.prepare(claim);
        assertEquals("", answer.error());
        assertEquals(
                List.of("pod.jnvdocker/gpu=" + uuids.get(0), "pod.jnvdocker/gpu=" + uuids.get(3)),
                answer.cdi().stream().sorted().toList());
        assertEquals(2, registry.live().size());
        assertEquals(answer, claims.prepare(claim));
        assertEquals(2, registry.live().size());
        assertTrue(out("gpu", "why", 3).contains(" is held by pod team-a/train-7 since "));
        Command.Result refused = daemon.jnvdocker("gpu", "run", "--gpus", "device=0", "true").run();
        assertEquals(125, refused.exitCode());
        assertTrue(refused.err().contains(" is held by pod team-a/train-7 since "), refused::err);
        // Its scheduler knows by itself who has them.
        awaitDevices("", "", "", "");
        processes.start(claim.pod(), "sleep", "1000");
        processes.end(claim.pod());
        assertEquals(2, registry.live().size());
        assertEquals("", claims.unprepare(claim).error());
        assertEquals(List.of(), registry.live());
        assertEquals("", claims.unprepare(claim).error());
    }

    @Test
    void refusalNamesTheHolderAndNothingOfTheClaimIsTaken() throws IOException {
        Process program = program(1);
        TestClaim claim = claim("late", 0, 1);
        String why = claims.prepare(claim).error();
        assertTrue(
                why.matches(
                        "jnvdocker: GPU 1 \\(GPU-5c1a1003\\) is held by \\S+'s process sh \\(pid"
                                + " "
                                + program.pid()
                                + "\\) since \\d\\d:\\d\\d; wait, or delete the pod"),
                why);
        assertEquals(1, registry.live().size());
        program.destroyForcibly().onExit().join();
        awaitDevices("", "", "", "");
        assertEquals("", claims.prepare(claim).error());
    }

    /**
     * A kubelet gives the claim of a pod that was deleted by force back while the pod still ends.
     */
    @Test
    void nextPodWaitsForTheProcessesOfOneThatWasDeletedByForce() throws Exception {
        TestClaim old = claim("old", 0, 1, 2, 3);
        assertEquals("", claims.prepare(old).error());
        processes.start(old.pod(), "sleep", "1000");
        TestClaim next = claim("next", 2);
        var back = CompletableFuture.supplyAsync(() -> claims.unprepare(old));
        var start = CompletableFuture.supplyAsync(() -> claims.prepare(next));
        assertThrows(TimeoutException.class, () -> start.get(1, TimeUnit.SECONDS));
        assertEquals(4, registry.live().size());
        processes.end(old.pod());
        assertEquals("", back.get(30, TimeUnit.SECONDS).error());
        assertEquals("", start.get(30, TimeUnit.SECONDS).error());
        assertTrue(out("gpu", "why", 2).contains("team-a/next"));
        assertEquals(1, registry.live().size());
    }

    /**
     * The claim of a pod that was deleted by force is gone before the pod has ended: the scheduler
     * would send the next pod to the GPU, beside free ones.
     */
    @Test
    void gpuWhoseClaimIsGoneIsNotOfferedWhileItsPodRuns() throws Exception {
        TestClaim old = claim("old", 1);
        TestClaim other = claim("other", 2);
        assertEquals("", claims.prepare(old).error());
        assertEquals("", claims.prepare(other).error());
        processes.start(old.pod(), "sleep", "1000");
        awaitDevices("", "", "", "");
        api.orphan(old);
        awaitDevices("", "held", "", "");
        api.delete(old);
        api.awaitClaimQueries(4);
        awaitDevices("", "held", "", "");
        api.failClaims(503);
        api.awaitClaimQueries(4);
        awaitDevices("", "held", "", "");
        api.failClaims(0);
        api.allocate(
                new TestClaim("1".repeat(8), old.name(), old.pod(), old.devices(), old.share()));
        api.awaitClaimQueries(4);
        awaitDevices("", "held", "", "");
        processes.end(old.pod());
        assertEquals("", claims.unprepare(old).error());
        awaitDevices("", "", "", "");
    }

    /** A kubelet that ends a pod twice gives the claim back while another pod uses the claim. */
    @Test
    void gpuIsHeldAsLongAsAnyPodHasItsClaim() {
        TestClaim claim = claim("first", 0);
        assertEquals("", claims.prepare(claim).error());
        processes.start(claim.pod(), "sleep", "1000");
        TestPod second = TestPod.named("second", 0);
        processes.start(second, "sleep", "1000");
        claims.join(claim, second);
        String joined = "pod " + second.uid() + " uses GPU 0 (";
        Lab.await(() -> {
            String found = daemon.jnvdocker("gpu", "doctor").run().out();
            return found.contains(joined) ? List.of() : List.of(found);
        });
        assertTrue(out("gpu", "ls").contains("also used by pod " + second.uid()));

        assertEquals("", claims.unprepare(claim).error());
        processes.end(claim.pod());
        String why = claims.unprepare(claim).error();
        assertTrue(why.contains(joined), why);
        assertEquals(
                125, daemon.jnvdocker("gpu", "run", "--gpus=device=0", "true").run().exitCode());
        daemon.kill();
        out("gpu", "ls");
        register();
        assertEquals(1, registry.live().size());

        processes.end(second);
        assertEquals("", claims.unprepare(claim, second).error());
        assertEquals(List.of(), registry.live());
    }

    /** A kubelet's file that cannot be read does not say that no other pod has the claim. */
    @Test
    void claimIsNotGivenBackWhileItsPodsAreUnknown() throws IOException {
        TestClaim claim = claim("sole", 0);
        assertEquals("", claims.prepare(claim).error());
        Path state = directory.resolve("dra_manager_state");
        Files.writeString(state, "{\"Data\":7}");
        String why = claims.unprepare(claim).error();
        assertTrue(why.contains(state + " has no data of a kubelet"), why);
        assertEquals(1, registry.live().size());
        claims.join(claim, claim.pod());
        assertEquals("", claims.unprepare(claim).error());
        assertEquals(List.of(), registry.live());
    }

    @Test
    void claimThatIsNotTheOneOfThePodIsRefused() {
        TestClaim claim = claim("train-8", 0);
        String another = claims.prepare(claim.another()).error();
        assertTrue(another.contains("is another one by now"), another);
        TestClaim missing = TestClaim.of(TestPod.named("missing", 0), List.of());
        String none = claims.prepare(missing).error();
        assertTrue(none.contains(" answers 404 to GET "), none);
        TestClaim wrong = claim("wrong");
        String empty = claims.prepare(wrong).error();
        assertTrue(empty.contains("is not allocated"), empty);
        assertEquals(List.of(), registry.live());
    }

    @Test
    void leaseOutlivesTheDaemonUntilTheClaimIsGivenBack() {
        TestClaim claim = claim("steady", 1);
        assertEquals("", claims.prepare(claim).error());
        daemon.kill();
        out("gpu", "ls");
        register();
        assertTrue(out("gpu", "why", 1).contains("team-a/steady"));
        awaitDevices("", "", "", "");
        assertEquals(1, registry.live().size());
        assertEquals(1, claims.prepare(claim).cdi().size());
        assertEquals(1, registry.live().size());
    }

    @Test
    void sliceComesBackWhateverOthersDoToIt() throws IOException {
        api.wipe();
        awaitDevices("", "", "", "");
        api.touch();
        program(0);
        awaitDevices("held", "", "", "");
        api.fail(503);
        program(3);
        Lab.await(() -> {
            String found = daemon.jnvdocker("gpu", "doctor").run().out();
            return found.contains(" answers 503 to GET ") ? List.of() : List.of(found);
        });
        api.fail(0);
        awaitDevices("held", "", "", "held");
        assertEquals(1, api.slices().size());
    }

    @Test
    void gpuThatCannotBeHadIsLeftOutWhereAClusterKeepsNoTaints() throws IOException {
        api.keepTaints(false);
        program(1);
        awaitDevices(List.of(device(0), device(2), device(3)));
        programs.removeLast().destroyForcibly().onExit().join();
        awaitDevices("", "", "", "");
        api.keepTaints(true);
        register();
    }

    @Test
    void sliceGoesWhenADevicePluginServesTheNode() {
        daemon.config(config("device-plugin"));
        out("gpu", "reload");
        awaitDevices(List.of());
        daemon.config(config("dra"));
        out("gpu", "reload");
        register();
    }

    @Test
    void fileThatEveryoneCanWriteIsNoCredential() throws IOException {
        Command.of("chmod", "0666", api.kubeconfig()).run().ok();
        TestClaim claim = claim("early", 0);
        String why = claims.prepare(claim).error();
        assertTrue(why.contains(api.kubeconfig().toString()), why);
        Command.of("chmod", "0600", api.kubeconfig()).run().ok();
        assertEquals("", claims.prepare(claim).error());
    }
}
