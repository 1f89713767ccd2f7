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

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
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
    private static final int TRIES = 10;

    /** Clients of docker and pods do not wait, and so have to retry. */
    private static final Duration PATIENCE = Duration.ofMinutes(3);

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

    private final AtomicInteger deaths = new AtomicInteger();
    private final AtomicInteger tries = new AtomicInteger();
    private final ReadWriteLock agentLives = new ReentrantReadWriteLock();
    private Lab lab;
    private RuntimeInstallation runtime;
    private MesosAgent agent;
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
        share = Directories.make("share");
        Files.createDirectory(share.resolve("held"));
        Files.createFile(share.resolve("done"));
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
        Directories.remove(share);
    }

    @Test
    void manyTakeTurnsAndNeverTwoHaveOneGpu() throws Exception {
        List<CompletableFuture<Void>> workers = new ArrayList<>();
        workers.addAll(work(WORKERS, CONTAINERS, this::container));
        workers.addAll(work(WORKERS, TASKS, this::task));
        workers.addAll(work(GROUPS_AT_A_TIME, GROUPS, this::group));
        workers.addAll(work(PODS_AT_A_TIME, PODS, this::pod));
        CompletableFuture<Void> all =
                CompletableFuture.allOf(workers.toArray(CompletableFuture[]::new));
        dieWhen(all, ALL / 4, this::killDaemon);
        dieWhen(all, ALL / 2, this::killAgent);
        dieWhen(
                all,
                ALL * 3 / 4,
                () -> {
                    lab.daemon().kill();
                    killAgent();
                    lab.startDaemon();
                });
        dieWhen(all, Integer.MAX_VALUE, () -> {});
        all.join();

        System.out.println(ALL + " took turns, " + tries + " were tried again");
        assertEquals("", Files.readString(share.resolve("wrong")));
        assertEachHadItsGpus();
        assertTurns();
        assertNothingIsLeft();
    }

    private interface Deed {
        void run() throws Exception;
    }

    private interface Job {
        void run(int number) throws Exception;
    }

    /**
     * Runs several workers, each of which takes the next of that many jobs when it has finished
     * one.
     */
    private static List<CompletableFuture<Void>> work(int workers, int count, Job job) {
        AtomicInteger next = new AtomicInteger();
        return Stream.generate(() ->
                        CompletableFuture.runAsync(
                                () -> {
                                    for (int number = next.getAndIncrement();
                                            number < count;
                                            number = next.getAndIncrement()) {
                                        unchecked(job, number);
                                    }
                                },
                                Thread::startVirtualThread))
                .limit(workers)
                .toList();
    }

    private static void unchecked(Job job, int number) {
        try {
            job.run(number);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Watches until that many are done, or all. */
    private void dieWhen(CompletableFuture<Void> all, int done, Deed deed) throws Exception {
        while (!all.isDone() && done().size() < done) {
            assertEquals(List.of(), lab.registry().heldTwice());
            Thread.sleep(50);
        }
        deaths.incrementAndGet();
        deed.run();
        deaths.incrementAndGet();
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
        untilDone(name, () -> lab.jnvdocker(words.toArray()));
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
        Instant end = Instant.now().plus(PATIENCE);
        while (!done().containsKey(name) && Instant.now().isBefore(end)) {
            Command.Result result = lab.docker(words.toArray());
            assertTrue(
                    result.exitCode() == 0 || result.err().contains("jnvdocker: "),
                    result::toString);
            Thread.sleep(100);
        }
        assertTrue(done().containsKey(name), name + " was not served");
    }

    private void task(int number) throws Exception {
        String name = "task-" + number + "-" + gpus(number);
        MesosTask task = of(name, gpus(number));
        if (number % 3 != 0) {
            task.direct();
        }
        untilDone(name, () -> await(launch(() -> agent.launch(task))));
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
            Job job = _ -> untilDone(name, () -> await(launch(() -> parent.nested(task))));
            nested.add(
                    CompletableFuture.runAsync(
                            () -> unchecked(job, 0), Thread::startVirtualThread));
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
        Instant end = Instant.now().plus(PATIENCE);
        while (!done().containsKey(name) && Instant.now().isBefore(end)) {
            TestPod pod = TestPod.of(UUID.randomUUID().toString(), gpus(number));
            if (kubelet.admit(pod) instanceof TestKubelet.Admitted admitted) {
                run(pod, name, admitted.devices().get("main"));
            }
            Thread.sleep(100);
        }
        assertTrue(done().containsKey(name), name + " was not served");
    }

    /** A kubelet tries to start a container until it does, or the pod is deleted. */
    private void run(TestPod pod, String name, Set<String> gpus) throws Exception {
        processes.start(pod, "sleep", "1000");
        Instant end = Instant.now().plus(PATIENCE);
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

    private interface Try {
        Command.Result run() throws Exception;
    }

    /** Retries as users and frameworks do: a failure is excused by the death of another process. */
    private void untilDone(String name, Try once) throws Exception {
        for (int i = 0; i < TRIES; i++) {
            int before = deaths.get();
            Command.Result result = once.run();
            if (done().containsKey(name)) {
                return;
            }
            boolean excused = before % 2 == 1 || deaths.get() != before;
            assertTrue(excused || result.err().contains("gave up after"), name + ": " + result);
            tries.incrementAndGet();
        }
        throw new AssertionError(name + " was not served in " + TRIES + " tries");
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

    /** Maps each finished container to the number of GPUs that it had. */
    private Map<String, String> done() {
        try {
            Map<String, String> done = new HashMap<>();
            for (String line : Files.readAllLines(share.resolve("done"))) {
                String[] words = line.split(" ");
                assertEquals(2, words.length, line);
                assertFalse(done.containsKey(words[0]), words[0] + " ran twice");
                done.put(words[0], words[1]);
            }
            return done;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void assertEachHadItsGpus() {
        Map<String, String> done = done();
        assertEquals(ALL, done.size());
        done.forEach((name, gpus) -> assertTrue(name.endsWith("-" + gpus), name + " had " + gpus));
    }

    private record Turn(String gpu, Instant since, Instant until) {}

    private void assertTurns() throws IOException {
        Lab.await(() -> lab.registry().live().stream().map(Object::toString).toList());
        String text = lab.jnvdocker("gpu", "leases", "--all", "-n", 9999, "--json").ok().out();
        List<Turn> turns = new ArrayList<>();
        Set<String> engines = new HashSet<>();
        for (JsonNode lease : new ObjectMapper().readTree(text)) {
            engines.add(lease.get("engine").asText());
            Instant since = Instant.parse(lease.get("since").asText());
            Instant until = Instant.parse(lease.get("until").asText());
            for (JsonNode gpu : lease.get("gpus")) {
                turns.add(new Turn(gpu.get("uuid").asText(), since, until));
            }
        }
        // One is docker's, one the kubelet's; that of programs is null.
        assertEquals(5, engines.size(), engines::toString);
        int least =
                IntStream.range(0, CONTAINERS).map(MesosAndDockerTest::gpus).sum()
                        + IntStream.range(0, PODS).map(MesosAndDockerTest::gpus).sum();
        assertTrue(turns.size() > least + TASKS + GROUPS * NESTED, turns.size() + " turns");
        Map<String, Turn> last = new HashMap<>();
        turns.sort(Comparator.comparing(Turn::since));
        for (Turn next : turns) {
            Turn before = last.put(next.gpu(), next);
            assertFalse(
                    before != null && before.until().isAfter(next.since()),
                    () -> "two at once: " + before + " and " + next);
        }
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
