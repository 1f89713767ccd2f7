package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;

import jnvdocker.kubelet.Calls;
import jnvdocker.kubelet.DeviceIds;
import jnvdocker.kubelet.GrpcException;
import jnvdocker.kubelet.GrpcSockets;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Moments;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.StartingGate;
import jnvdocker.tests.world.TestEngine;
import jnvdocker.tests.world.TestKubelet;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * However many clients send requests at once, each GPU has one holder at any instant. One contest
 * has more rounds with {@code KILL_POINTS=all} in the environment.
 */
@Tag("docker")
@Tag("root")
class ConcurrencyTest {
    private static final int GPUS = 8;
    private static final int RIVALS = 16;
    private static final int REFUSED = 125;
    private static final int ROUNDS = Moments.areAllWanted() ? 100 : 10;

    private static Lab lab;
    private static Path kubeletDir;
    private static TestKubelet kubelet;

    @BeforeAll
    static void open() throws IOException {
        lab = new Lab(TestEngine.Release.DEBIAN_STABLE, GPUS);
        kubeletDir = Directories.make("kubelet");
        kubelet = TestKubelet.start(kubeletDir);
        lab.daemon().stop();
        lab.daemon().config("[kubernetes]\nenabled = true\nkubelet_dir = \"" + kubeletDir + "\"\n");
        lab.daemon().with("JNVDOCKER_DEBUG", 1);
        lab.startDaemon();
        lab.engine().image("glibc");
    }

    @AfterAll
    static void close() throws IOException {
        lab.close();
        kubelet.close();
        Directories.remove(kubeletDir);
    }

    @AfterEach
    void nothingIsLeft() {
        lab.clear();
    }

    @Test
    void sixtyFourContainersTakeTurnsOnEightGpus() throws IOException {
        Path directory = Directories.make("intervals");
        try {
            List<CompletableFuture<Integer>> users =
                    Stream.generate(() ->
                                    CompletableFuture.supplyAsync(
                                            () -> runUntilServed(directory),
                                            Thread::startVirtualThread))
                            .limit(64)
                            .toList();
            int refusals = users.stream().mapToInt(CompletableFuture::join).sum();
            List<Interval> intervals = Interval.read(directory.resolve("intervals"));
            assertEquals(64, intervals.size());
            assertTurns(intervals);
            long used = intervals.stream().map(Interval::node).distinct().count();
            System.out.println("64 containers on " + used + " GPUs, " + refusals + " refusals");
        } finally {
            Directories.remove(directory);
        }
    }

    /** Returns how often it was refused before. */
    private static int runUntilServed(Path directory) {
        String work =
                "begin=$(date +%s%N); sleep 0.2;"
                        + " echo $(ls /dev/nvidia[0-9]*) $begin $(date +%s%N) >> /share/intervals";
        for (int refusals = 0; ; refusals++) {
            Command.Result result =
                    lab.jnvdocker(
                            "run",
                            "--rm",
                            "--gpus=1",
                            "-v",
                            directory + ":/share",
                            "glibc",
                            "sh",
                            "-c",
                            work);
            if (result.exitCode() != REFUSED) {
                result.ok();
                return refusals;
            }
            assertRefused(result.err());
            LockSupport.parkNanos(100_000_000);
        }
    }

    /** An earlier line may say that the daemon takes its time, as happens on a busy machine. */
    private static void assertRefused(String words) {
        String last = words.lines().reduce("", (_, line) -> line);
        assertTrue(last.startsWith("jnvdocker: 1 GPU requested, but none is free: "), words);
    }

    /** The time in which a container had a GPU, by the machine's clock. */
    private record Interval(String node, long begin, long end) {
        static List<Interval> read(Path file) throws IOException {
            return Files.readAllLines(file).stream().map(Interval::parse).toList();
        }

        private static Interval parse(String line) {
            String[] words = line.split(" ");
            assertEquals(3, words.length, line);
            return new Interval(words[0], Long.parseLong(words[1]), Long.parseLong(words[2]));
        }
    }

    private static void assertTurns(List<Interval> intervals) {
        Map<String, Interval> last = new HashMap<>();
        intervals.stream()
                .sorted(Comparator.comparing(Interval::begin))
                .forEach(next -> {
                    Interval before = last.put(next.node(), next);
                    assertTrue(
                            before == null || before.end() <= next.begin(),
                            () -> "two at once: " + before + " and " + next);
                });
    }

    @Test
    void oneOfSixteenGetsTheLastGpu() throws Exception {
        holdAllButOne();
        for (int round = 1; round <= ROUNDS; round++) {
            contest(round);
        }
    }

    private static void holdAllButOne() {
        lab.jnvdocker("run", "-d", "--gpus", GPUS - 1, "--name=others", "plain", "sleep", "1000")
                .ok();
    }

    /** A client that is given a GPU, and keeps it because its docker hangs. */
    private static Command reservation() {
        return lab.daemon()
                .jnvdocker("run", "--gpus=1", "plain", "true")
                .with("NV_DOCKER", Project.fixture("bin/hanging-docker") + " before-create");
    }

    private static void contest(int round) throws Exception {
        List<Process> clients = StartingGate.start(RIVALS, ConcurrencyTest::reservation);
        assertEquals(1, winners(clients), "round " + round);
    }

    /** How many of them have a GPU, which none has when this returns. */
    private static int winners(List<Process> clients) throws Exception {
        try {
            int winners = 0;
            for (Process client : clients) {
                if ("before-create".equals(client.inputReader().readLine())) {
                    winners++;
                } else {
                    assertRefused(new String(client.getErrorStream().readAllBytes()));
                    assertEquals(REFUSED, client.waitFor());
                }
            }
            assertEquals(List.of(), lab.registry().heldTwice());
            return winners;
        } finally {
            for (Process client : clients) {
                client.destroyForcibly().waitFor();
            }
        }
    }

    /** A kubelet that does not know yet that the GPU is taken requests it in the same instant. */
    @Test
    void aPodOrOneOfSixteenGetsTheLastGpu() throws Exception {
        holdAllButOne();
        Lab.await(() ->
                kubelet.healthy(TestKubelet.GPU).size() == 1
                        ? List.of()
                        : List.of("healthy are " + kubelet.healthy(TestKubelet.GPU)));
        String gpu = kubelet.healthy(TestKubelet.GPU).iterator().next();
        boolean pod = false;
        // What is reserved for a pod stays so, as long as the kubelet has not reported it.
        for (int round = 1; round <= 10 && !pod; round++) {
            List<Process> clients = StartingGate.start(RIVALS, ConcurrencyTest::reservation);
            boolean accepted = isAccepted(gpu);
            int winners = winners(clients);
            // Behind a client's reservation the pod is next in line, and has nothing yet.
            assertTrue(winners == 1 || winners == 0 && accepted, "round " + round);
            pod = winners == 0;
        }
    }

    private static boolean isAccepted(String gpu) throws IOException {
        try (GrpcSockets grpc = new GrpcSockets()) {
            grpc.request(
                    kubelet.socket().resolveSibling("jnvdocker-nvidia.com-gpu.sock"),
                    Calls.ALLOCATE,
                    new DeviceIds(List.of(List.of(gpu))).bytes(),
                    Duration.ofSeconds(10));
            return true;
        } catch (GrpcException e) {
            assertEquals(Status.Code.FAILED_PRECONDITION, e.code());
            return false;
        }
    }

    @Test
    void oneOfSixteenStartsAContainerOnTheLastGpu() throws Exception {
        holdAllButOne();
        for (int round = 1; round <= 10; round++) {
            List<String> containers = new ArrayList<>();
            for (Process process : StartingGate.start(RIVALS, ConcurrencyTest::container)) {
                String container = process.inputReader().readLine();
                String words = new String(process.getErrorStream().readAllBytes());
                if (process.waitFor() == 0) {
                    containers.add(container);
                } else {
                    assertRefused(words);
                    assertEquals(REFUSED, process.exitValue());
                }
            }
            assertEquals(1, containers.size(), "round " + round);
            lab.docker("rm", "-f", containers.getFirst()).ok();
        }
    }

    private static Command container() {
        return lab.daemon().jnvdocker("run", "-d", "--gpus=1", "plain", "sleep", "1000");
    }
}
