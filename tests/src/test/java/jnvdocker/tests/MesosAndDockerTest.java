package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.MesosAgent;
import jnvdocker.tests.world.MesosContainer;
import jnvdocker.tests.world.MesosTask;
import jnvdocker.tests.world.Moments;
import jnvdocker.tests.world.PodProcesses;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;
import jnvdocker.tests.world.TestKubelet;
import jnvdocker.tests.world.TestPod;
import jnvdocker.tests.world.Turns;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * All users and providers of GPUs on one host: containers by the volume plugin, by our OCI runtime
 * and by any client of docker that requests it, programs of the host, a Mesos agent, a kubelet.
 * Whichever process dies meanwhile, a GPU has one holder. A third of them take turns, or all with
 * {@code KILL_POINTS=all} in the environment.
 */
@Tag("docker")
@Tag("root")
class MesosAndDockerTest {
    private static final int GPUS = 8;
    private static final int PART = Moments.areAllWanted() ? 1 : 3;
    private static final int CONTAINERS = 100 / PART;
    private static final int TASKS = 60 / PART;
    private static final int GROUPS = 14 / PART;
    private static final int NESTED = 3;
    private static final int PODS = 24 / PART;
    private static final int PODS_AT_A_TIME = 3;
    private static final int ALL = CONTAINERS + TASKS + GROUPS * NESTED + PODS;
    private static final int WORKERS = 4;
    private static final int GROUPS_AT_A_TIME = 2;

    /**
     * Only one container can make a given directory, which exists as long as that one has the GPU.
     */
    private static final String WORK =
            """
            for node in /dev/nvidia[0-9]*; do
              mkdir "/share/held/${node##*/}" || echo "%1$s is not alone on $node" >> /share/wrong
            done
            sleep 0.1
            for node in /dev/nvidia[0-9]*; do rmdir "/share/held/${node##*/}"; done
            echo %1$s $(printf "%%s\\n" /dev/nvidia[0-9]* | wc -l) >> /share/done
            """;

    /** Checks a program of the host, which gets its GPUs by UUID. */
    private static final String PROGRAM =
            WORK.replace(
                    "/dev/nvidia[0-9]*",
                    "$(echo $CUDA_VISIBLE_DEVICES | sed -E"
                            + " 's|GPU-5c1a([0-9])[^,]*|/dev/nvidia\\1|g; s|,| |g')");

    private final ReadWriteLock agentLives = new ReentrantReadWriteLock();
    private Lab lab;
    private RuntimeInstallation runtime;
    private MesosAgent agent;
    private Turns turns;
    private Path share;
    private Path kubeletDir;
    private TestKubelet kubelet;
    private final PodProcesses processes = new PodProcesses();

    @BeforeEach
    void open() throws IOException {
        lab = new Lab(TestEngine.Release.DEBIAN_STABLE, GPUS);
        kubeletDir = Directories.make("kubelet");
        kubelet = TestKubelet.start(kubeletDir);
        lab.configure("[kubernetes]\nenabled = true\nkubelet_dir = \"" + kubeletDir + "\"\n");
        runtime = RuntimeInstallation.of(lab);
        agent = new MesosAgent(lab.daemon().socket());
        turns = new Turns();
        share = turns.share();
        Files.createDirectory(share.resolve("held"));
        Files.createFile(share.resolve("wrong"));
    }

    @AfterEach
    void close() throws IOException {
        agent.close();
        lab.close();
        runtime.close();
        kubelet.close();
        processes.close();
        Directories.remove(kubeletDir);
        turns.close();
    }

    @Test
    void manyTakeTurnsAndNeverTwoHaveOneGpu() throws Exception {
        List<CompletableFuture<Void>> workers = new ArrayList<>();
        workers.addAll(Turns.work(WORKERS, CONTAINERS, this::container));
        workers.addAll(Turns.work(WORKERS, TASKS, this::task));
        workers.addAll(Turns.work(GROUPS_AT_A_TIME, GROUPS, this::group));
        workers.addAll(Turns.work(PODS_AT_A_TIME, PODS, this::pod));
        CompletableFuture<Void> all =
                CompletableFuture.allOf(workers.toArray(CompletableFuture[]::new));
        turns.dieWhen(all, ALL / 4, this::assertNoneTogether, this::killDaemon);
        turns.dieWhen(all, ALL / 2, this::assertNoneTogether, this::killAgent);
        turns.dieWhen(
                all,
                ALL * 3 / 4,
                this::assertNoneTogether,
                () -> {
                    lab.daemon().kill();
                    killAgent();
                    lab.startDaemon();
                });
        turns.dieWhen(all, Integer.MAX_VALUE, this::assertNoneTogether, () -> {});
        all.join();

        System.out.println(ALL + " took turns, " + turns.tries() + " were tried again");
        assertEquals("", Files.readString(share.resolve("wrong")));
        assertEquals(ALL, turns.done().size());
        assertEquals(ALL, turns.lines().size(), () -> turns.lines().toString());
        assertTurns();
        assertNothingIsLeft();
    }

    private void assertNoneTogether() {
        assertEquals(List.of(), lab.registry().heldTwice());
    }

    private void killDaemon() {
        lab.daemon().kill();
        lab.startDaemon();
    }

    private void killAgent() throws InterruptedException {
        agentLives.writeLock().lock();
        try {
            agent.kill();
            agent.recover();
        } finally {
            agentLives.writeLock().unlock();
        }
    }

    private static int gpus(int number) {
        return number % 4 == 3 ? 2 : 1;
    }

    private void container(int number) throws Exception {
        String name = "container-" + number + "-" + gpus(number);
        String gpus = "--gpus=" + gpus(number);
        List<Object> container = List.of("-v", share + ":/share", "plain", "sh", "-c");
        String work = WORK.formatted(name);
        switch (number % 4) {
            case 0 -> waited(name, List.of("run", "--rm", "--gpu-wait", gpus), container, work);
            case 1 ->
                    waited(
                            name,
                            List.of("run", "--rm", "--runtime=runc", "--gpu-wait", gpus),
                            container,
                            work);
            case 2 ->
                    waited(
                            name,
                            List.of("gpu", "run", "--gpu-wait", gpus, "--", "sh", "-c"),
                            List.of(),
                            PROGRAM.formatted(name).replace("/share", share.toString()));
            default -> requested(name, gpus(number), container, work);
        }
    }

    private void waited(String name, List<Object> first, List<Object> then, String work)
            throws Exception {
        List<Object> words = new ArrayList<>(first);
        words.addAll(then);
        words.add(work);
        turns.untilDone(name, Turns.GAVE_UP, () -> lab.jnvdocker(words.toArray()));
    }

    /** Requests GPUs from docker, without any client of ours. */
    private void requested(String name, int gpus, List<Object> container, String work)
            throws Exception {
        List<Object> words =
                new ArrayList<>(
                        List.of(
                                "run",
                                "--rm",
                                "--runtime=nvidia",
                                "--label=jnvdocker.gpus=" + gpus));
        words.addAll(container);
        words.add(work);
        turns.untilDone(name, Turns.REFUSED, () -> lab.docker(words.toArray()));
    }

    private void task(int number) throws Exception {
        String name = "task-" + number + "-" + gpus(number);
        MesosTask task = of(name, gpus(number));
        if (number % 3 != 0) {
            task.direct();
        }
        turns.untilDone(name, Turns.GAVE_UP, () -> await(launch(() -> agent.launch(task))));
    }

    private MesosTask of(String name, int gpus) {
        return MesosTask.of(WORK.formatted(name)).gpus(gpus).needsDriver().mount(share, "/share");
    }

    private void group(int number) throws Exception {
        MesosTask executor = MesosTask.of("echo up; sleep 1000").direct().noImage();
        MesosContainer parent = launch(() -> agent.launch(executor).awaitLine("up"));
        List<CompletableFuture<Void>> nested = new ArrayList<>();
        for (int i = 0; i < NESTED; i++) {
            String name = "group-" + number + "-" + i + "-1";
            MesosTask task = number % 2 == 0 ? of(name, 1) : of(name, 1).ownCgroups();
            nested.add(
                    Turns.inBackground(() ->
                            turns.untilDone(
                                    name,
                                    Turns.GAVE_UP,
                                    () -> await(launch(() -> parent.nested(task))))));
        }
        nested.forEach(CompletableFuture::join);
        launch(() -> {
            parent.kill();
            return parent;
        });
    }

    /** As a Job does: each one that is rejected is followed by another. */
    private void pod(int number) throws Exception {
        String name = "pod-" + number + "-" + gpus(number);
        turns.retry(
                name,
                () -> {
                    TestPod pod = TestPod.of(UUID.randomUUID().toString(), gpus(number));
                    if (kubelet.admit(pod) instanceof TestKubelet.Admitted admitted) {
                        run(pod, name, admitted.devices().get("main"));
                    }
                });
    }

    /** A kubelet tries to start a container until it does, or the pod is deleted. */
    private void run(TestPod pod, String name, Set<String> gpus) throws Exception {
        processes.start(pod, "sleep", "1000");
        Instant end = Instant.now().plus(Turns.PATIENCE);
        while (kubelet.start(pod, "main") instanceof TestKubelet.Refused refused) {
            assertTrue(Instant.now().isBefore(end), refused::message);
            Thread.sleep(200);
        }
        String work = PROGRAM.formatted(name).replace("/share", share.toString());
        Process process =
                processes.start(
                        pod,
                        "env",
                        "CUDA_VISIBLE_DEVICES=" + String.join(",", gpus),
                        "sh",
                        "-c",
                        work);
        process.waitFor();
        kubelet.delete(pod);
        processes.end(pod);
    }

    private interface Launch {
        MesosContainer run() throws Exception;
    }

    /** Launches while the agent is alive. */
    private MesosContainer launch(Launch launch) throws Exception {
        agentLives.readLock().lock();
        try {
            return launch.run();
        } finally {
            agentLives.readLock().unlock();
        }
    }

    /** If the agent dies meanwhile, the next one supervises its containers. */
    private Command.Result await(MesosContainer container) throws Exception {
        while (true) {
            Command.Result result = container.await();
            agentLives.readLock().lock();
            try {
                if (!container.isSupervised()) {
                    return result;
                }
            } finally {
                agentLives.readLock().unlock();
            }
        }
    }

    private void assertTurns() throws IOException {
        Lab.await(() -> lab.registry().live().stream().map(Object::toString).toList());
        String text = lab.jnvdocker("gpu", "leases", "--all", "-n", 9999, "--json").ok().out();
        JsonNode leases = new ObjectMapper().readTree(text);
        Set<String> engines = new HashSet<>(leases.findValuesAsText("engine"));
        // One is docker's, one the kubelet's; that of programs is null.
        assertEquals(5, engines.size(), engines::toString);
        int least =
                IntStream.range(0, CONTAINERS).map(MesosAndDockerTest::gpus).sum()
                        + IntStream.range(0, PODS).map(MesosAndDockerTest::gpus).sum();
        int had = Turns.assertTurns(leases);
        assertTrue(had > least + TASKS + GROUPS * NESTED, had + " turns");
    }

    private void assertNothingIsLeft() throws IOException {
        lab.clear();
        assertEquals(0, lab.registry().tickets());
        for (String controller : List.of("freezer", "devices")) {
            Path cgroups = Path.of("/sys/fs/cgroup", controller, agent.cgroupsRoot());
            try (Stream<Path> left = Files.walk(cgroups).filter(Files::isDirectory)) {
                assertEquals(List.of(cgroups), left.toList());
            }
        }
        try (Stream<Path> left = Files.list(agent.directory().resolve("run/containers"))) {
            assertEquals(List.of(), left.toList());
        }
        String mounts = Files.readString(Path.of("/proc/self/mountinfo"));
        assertFalse(mounts.contains(agent.cgroupsRoot()), mounts);
    }
}
