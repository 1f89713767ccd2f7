package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Folders;
import jnvdocker.tests.world.Lab;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Pods and programs of the host share GPUs: a kubelet, a daemon, and processes in cgroups. */
@Tag("root")
@Tag("tree")
class DevicePluginTest {
    private static final Path CGROUPS = Path.of("/sys/fs/cgroup");

    private static DriverRoot host;
    private static TestDaemon daemon;
    private static Path folder;
    private static TestKubelet kubelet;
    private static Set<String> all;

    private final Map<String, TestPod> pods = new LinkedHashMap<>();
    private final List<Path> groups = new ArrayList<>();
    private final List<Process> processes = new ArrayList<>();

    @BeforeAll
    static void open() throws IOException {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
        daemon = new TestDaemon(host);
        folder = Folders.make("kubelet");
        daemon.config("[kubernetes]\nenabled = true\nkubelet_dir = \"" + folder + "\"\n");
        kubelet = TestKubelet.start(folder);
        daemon.jnvdocker("gpu", "ls").run().ok();
        Lab.await(() -> {
            all = kubelet.healthy(TestKubelet.GPU);
            return all.size() == 4 ? List.of() : List.of("healthy are " + all);
        });
    }

    @AfterAll
    static void close() throws IOException {
        kubelet.close();
        daemon.close();
        host.close();
        Folders.remove(folder);
    }

    @AfterEach
    void endAll() throws Exception {
        processes.forEach(Process::destroyForcibly);
        for (Process process : processes) {
            process.waitFor();
        }
        pods.values().forEach(kubelet::delete);
        for (Path group : groups) {
            Files.deleteIfExists(group);
            Files.deleteIfExists(group.getParent());
        }
        kubelet.awaitHealthy(TestKubelet.GPU, all);
        awaitStates("FREE FREE FREE FREE");
    }

    private TestPod pod(String uid, int gpus) {
        TestPod pod = TestPod.of(uid, gpus);
        pods.put(uid, pod);
        return pod;
    }

    private static Set<String> admitted(TestPod pod) {
        return assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(pod))
                .devices()
                .get("main");
    }

    /** A container's process, in the cgroup that a kubelet would have made for its pod. */
    private Process run(TestPod pod) throws IOException {
        assertInstanceOf(TestKubelet.Running.class, kubelet.start(pod, "main"));
        Path root =
                Files.exists(CGROUPS.resolve("cgroup.procs"))
                        ? CGROUPS
                        : CGROUPS.resolve("devices");
        Path its = root.resolve("jnvdocker-test").resolve("pod" + pod.uid()).resolve("main");
        Files.createDirectories(its);
        groups.add(its);
        Process process = new ProcessBuilder("sleep", "1000").start();
        processes.add(process);
        Files.writeString(its.resolve("cgroup.procs"), String.valueOf(process.pid()));
        return process;
    }

    private Process gpuRun(String gpus) {
        Process process =
                daemon.jnvdocker("gpu", "run", "--gpus", gpus, "--", "sleep", "1000").start();
        processes.add(process);
        return process;
    }

    private static void awaitStates(String states) {
        Lab.await(() -> {
            String now =
                    String.join(
                                    " ",
                                    daemon.jnvdocker("gpu", "ls", "--json")
                                            .run()
                                            .json()
                                            .findValuesAsText("state"))
                            .toUpperCase(Locale.ROOT);
            return now.equals(states) ? List.of() : List.of("states are " + now);
        });
    }

    @Test
    void podHoldsItsGpusInEveryView() throws Exception {
        TestPod pod = pod("928cd30c-f6b5-4009-8df9-e7341ebd34a1", 2);
        assertEquals(2, admitted(pod).size());
        awaitStates("RESERVED RESERVED FREE FREE");
        run(pod);
        awaitStates("HELD HELD FREE FREE");
        String ls = daemon.jnvdocker("gpu", "ls").run().ok().out();
        assertTrue(ls.contains("default/" + pod.name()), ls);
        Command.Result refused = daemon.jnvdocker("gpu", "run", "--gpus", "device=0", "true").run();
        assertEquals(125, refused.exitCode());
        assertTrue(
                refused.err().contains("is held by pod default/" + pod.name() + " since"),
                refused::err);
        assertEquals(all, kubelet.healthy(TestKubelet.GPU));
    }

    @Test
    void gpuOfAProgramIsNotForPodsUntilItsEnd() throws Exception {
        Process program = gpuRun("device=1");
        Set<String> others = new TreeSet<>(all);
        others.removeIf(id -> id.startsWith("GPU-5c1a1003"));
        kubelet.awaitHealthy(TestKubelet.GPU, others);
        TestPod four = TestPod.of("11111111-f6b5-4009-8df9-e7341ebd34a1", 4);
        TestKubelet.Rejected rejected =
                assertInstanceOf(TestKubelet.Rejected.class, kubelet.admit(four));
        assertTrue(rejected.message().contains("Requested: 4, Available: 3"), rejected::message);
        program.destroyForcibly();
        kubelet.awaitHealthy(TestKubelet.GPU, all);
    }

    /** {@code kubectl delete --force --grace-period=0}, while its processes take their time. */
    @Test
    void podWaitsForThoseOfOneThatWasDeletedByForce() throws Exception {
        TestPod old = pod("33333333-f6b5-4009-8df9-e7341ebd34a1", 4);
        admitted(old);
        Process process = run(old);
        kubelet.forceDelete(old);
        TestPod next = pod("44444444-f6b5-4009-8df9-e7341ebd34a1", 4);
        assertEquals(all, admitted(next));
        CompletableFuture<TestKubelet.Start> start =
                CompletableFuture.supplyAsync(() -> kubelet.start(next, "main"));
        TimeUnit.SECONDS.sleep(1);
        assertFalse(start.isDone());
        process.destroyForcibly();
        assertInstanceOf(TestKubelet.Running.class, start.get(20, TimeUnit.SECONDS));
        awaitStates("HELD HELD HELD HELD");
        assertTrue(
                daemon.jnvdocker("gpu", "ls").run().ok().out().contains("default/" + next.name()));
    }

    @Test
    void podKeepsItsGpusWhenTheDaemonIsKilled() throws Exception {
        TestPod pod = pod("55555555-f6b5-4009-8df9-e7341ebd34a1", 1);
        admitted(pod);
        run(pod);
        daemon.kill();
        awaitStates("HELD FREE FREE FREE");
        kubelet.awaitHealthy(TestKubelet.GPU, all);
        assertInstanceOf(TestKubelet.Running.class, kubelet.start(pod, "main"));
        kubelet.restart();
        kubelet.awaitHealthy(TestKubelet.GPU, all);
        awaitStates("HELD FREE FREE FREE");
        assertFalse(kubelet.panicked());
    }
}
