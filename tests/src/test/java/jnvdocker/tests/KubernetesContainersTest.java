package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import jnvdocker.kubernetes.kubelet.AllocateAnswer;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.PodContainers;
import jnvdocker.tests.world.PodEngine;
import jnvdocker.tests.world.TestEngine;
import jnvdocker.tests.world.TestKubelet;
import jnvdocker.tests.world.TestPod;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

/**
 * Pods from their admission to the processes of their containers, in containerd 2, or in the engine
 * that {@code PODS} in the environment names.
 */
@Tag("docker")
@Tag("root")
class KubernetesContainersTest {
    /** Whether each of the four GPUs' numbers may be opened: ENXIO says that it may. */
    private static final String TRY_ALL =
            "mkdir -p /n; for i in 0 1 2 3; do mknod /n/$i c 195 $i; tryopen /n/$i; rm /n/$i;"
                    + " done; true";

    private static final String MAY = "ENXIO";
    private static final String MAY_NOT = "EPERM";

    private static final PodEngine.Kind KIND = PodEngine.Kind.wanted();

    private static Lab lab;
    private static PodEngine engine;
    private static PodContainers containers;
    private static TestKubelet kubelet;
    private static Path directory;
    private static List<String> uuids;

    private final List<TestPod> pods = new ArrayList<>();

    @BeforeAll
    static void open() throws Exception {
        directory = Directories.make("kubelet");
        kubelet = TestKubelet.start(directory);
        lab = new Lab(TestEngine.Release.wanted());
        engine = new PodEngine(KIND);
        lab.daemon().stop();
        lab.daemon().with("JNVDOCKER_CDI_DIR", engine.cdi());
        lab.daemon().config("[kubernetes]\nenabled = true\nkubelet_dir = \"" + directory + "\"\n");
        lab.startDaemon();
        engine.installRuntime(lab);
        engine.start(lab);
        containers = new PodContainers(engine);
        uuids = lab.jnvdocker("gpu", "ls", "--json").json().findValuesAsText("uuid");
        kubelet.awaitHealthy(TestKubelet.GPU, new TreeSet<>(uuids));
    }

    @AfterAll
    static void close() throws Exception {
        containers.close();
        lab.jnvdocker("runtime", "uninstall");
        engine.close();
        lab.close();
        kubelet.close();
        Directories.remove(directory);
    }

    @AfterEach
    void endPods() {
        for (TestPod pod : pods) {
            containers.end(pod);
            kubelet.delete(pod);
        }
        Lab.await(() -> lab.registry().live().stream().map(Object::toString).toList());
    }

    private TestPod admitted(int gpus) {
        TestPod pod = TestPod.of(UUID.randomUUID().toString(), gpus);
        pods.add(pod);
        assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(pod));
        return pod;
    }

    /** Starts it as often as a kubelet would that does not have to hurry. */
    private static AllocateAnswer.Container answer(TestPod pod) {
        containers.prepare(pod);
        TestKubelet.Start start = kubelet.start(pod, "main");
        for (int i = 0; i < 2 && start instanceof TestKubelet.Refused; i++) {
            start = kubelet.start(pod, "main");
        }
        return assertInstanceOf(TestKubelet.Running.class, start).answer();
    }

    private static String started(TestPod pod, String... command) {
        return containers.start(pod, "main", answer(pod), "", command).ok().out().strip();
    }

    private static List<Integer> gpus(TestPod pod) {
        TestKubelet.Admitted admitted =
                assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(pod));
        return admitted.devices().get("main").stream().map(uuids::indexOf).sorted().toList();
    }

    private static String names(TestPod pod) {
        return gpus(pod).stream().map(uuids::get).collect(Collectors.joining(","));
    }

    private static String visible(String value) {
        return "NVIDIA_VISIBLE_DEVICES=" + value + "\n";
    }

    private static List<String> openable(List<Integer> gpus) {
        return List.of(0, 1, 2, 3).stream().map(it -> gpus.contains(it) ? MAY : MAY_NOT).toList();
    }

    /** Also at the next start, before which its pod keeps them. */
    @Test
    void containerHasItsGpusAndNoOthers() {
        TestPod pod = admitted(2);
        String container = started(pod, "sleep", "1000");
        assertEquals(openable(gpus(pod)), containers.run(container, TRY_ALL).lines().toList());
        String seen =
                containers.run(container, "ls /dev | grep nvidia; env; ls -R /usr/local/nvidia");
        for (int gpu : gpus(pod)) {
            assertTrue(seen.contains("nvidia" + gpu + "\n"), seen);
        }
        assertTrue(seen.contains(visible("void")), seen);
        assertTrue(seen.contains("libcuda.so"), seen);
        assertFalse(containers.run(container, "touch /usr/local/nvidia/x 2>&1; true").isEmpty());
        containers.stop(container);
        kubelet.ended(pod, "main");
        String again = started(pod, "sleep", "1000");
        assertEquals(openable(gpus(pod)), containers.run(again, TRY_ALL).lines().toList());
        assertEquals(2, lab.registry().live().size());
    }

    /** A kubelet gives a runtime both; the names alone must do. */
    @Test
    void cdiDevicesGiveTheSame() {
        assumeTrue(KIND != PodEngine.Kind.CONTAINERD_1, "containerd 1.6 knows no CDI devices");
        TestPod pod = admitted(2);
        AllocateAnswer.Container answer = answer(pod);
        AllocateAnswer.Container names =
                new AllocateAnswer.Container(List.of(), List.of(), List.of(), answer.cdi());
        for (String handler : List.of("", "nvidia")) {
            String container =
                    containers
                            .start(pod, "main", names, handler, "sleep", "1000")
                            .ok()
                            .out()
                            .strip();
            assertEquals(openable(gpus(pod)), containers.run(container, TRY_ALL).lines().toList());
            String seen = containers.run(container, "env; ls -R /usr/local/nvidia");
            assertTrue(seen.contains(visible(handler.isEmpty() ? "void" : names(pod))), seen);
            assertTrue(seen.contains("libcuda.so"), seen);
            containers.end(pod);
        }
        assertEquals(2, lab.registry().live().size());
    }

    /** A real kubelet has had both of them run with the same GPUs for 17 s. */
    @Test
    void podThatWasDeletedByForceKeepsItsGpusUntilItHasEnded() throws Exception {
        TestPod old = admitted(4);
        String container =
                started(old, "sh", "-c", "trap 'sleep 2; exit' TERM; while :; do sleep .1; done");
        kubelet.forceDelete(old);
        CompletableFuture<Void> end =
                CompletableFuture.runAsync(() -> {
                    containers.stop(container);
                    containers.end(old);
                });
        TestPod next = admitted(4);
        AllocateAnswer.Container answer = answer(next);
        assertEquals(List.of(), processes(old));
        containers.start(next, "main", answer, "", "sleep", "1000").ok();
        end.join();
    }

    private static List<String> processes(TestPod pod) {
        return Command.of("sh", "-c", "grep -l pod" + pod.uid() + " /proc/[0-9]*/cgroup || true")
                .run()
                .ok()
                .out()
                .lines()
                .toList();
    }

    /** Its user has securityContext, and none of docker's options. */
    @Test
    void privilegedPodIsNotedByTheUsualRuntimeAndRefusedByOurs() {
        TestPod pod = admitted(1);
        containers.privileged(pod);
        AllocateAnswer.Container answer = answer(pod);
        String container =
                containers.start(pod, "main", answer, "", "sleep", "1000").ok().out().strip();
        assertEquals(
                openable(List.of(0, 1, 2, 3)), containers.run(container, TRY_ALL).lines().toList());
        Lab.await(() -> {
            String shown = lab.jnvdocker("gpu", "ls").out();
            return shown.contains("  privileged: can open every GPU") ? List.of() : List.of(shown);
        });
        containers.end(pod);
        Command.Result refused = containers.start(pod, "main", answer, "nvidia", "sleep", "9");
        assertTrue(refused.err().contains("; leave out securityContext.privileged"), refused::err);
    }

    /** What another pod was answered is of no use to one that has no lease. */
    @Test
    void runtimeClassTakesThePodsLeaseAndNoOther() {
        TestPod pod = admitted(1);
        AllocateAnswer.Container answer = answer(pod);
        String container =
                containers
                        .start(pod, "main", answer, "nvidia", "sh", "-c", "env > /e; sleep 1000")
                        .ok()
                        .out()
                        .strip();
        assertEquals(openable(gpus(pod)), containers.run(container, TRY_ALL).lines().toList());
        assertEquals(1, lab.registry().live().size());
        // A command in it has what its own process has.
        String own = containers.run(container, "cat /e");
        assertTrue(own.contains(visible(names(pod))), own);
        assertTrue(own.contains("LD_LIBRARY_PATH=/usr/local/nvidia/lib:"), own);
        List<String> command = containers.run(container, "env").lines().toList();
        List<String> missing = own.lines().filter(it -> it.matches("(NVIDIA|LD_|PATH).*")).toList();
        assertTrue(command.containsAll(missing), () -> own + command);
        Path edited = lab.daemon().socket().resolveSibling("runtime").resolve(container);
        assertTrue(Files.exists(edited));
        TestPod thief = TestPod.of(UUID.randomUUID().toString(), 0);
        pods.add(thief);
        Command.Result refused = containers.start(thief, "main", answer, "nvidia", "sleep", "9");
        assertEquals(1, refused.exitCode(), refused::toString);
        assertTrue(refused.err().contains("jnvdocker: "), refused::toString);
        containers.end(pod);
        Lab.await(() -> Files.exists(edited) ? List.of(edited + " is left") : List.of());
    }
}
