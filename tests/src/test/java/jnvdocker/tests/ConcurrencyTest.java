package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Moments;
import jnvdocker.tests.world.StartingGate;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
@Attack(
        by = "a fault",
        what = "races",
        result =
                "64 containers on 8 GPUs never overlap; of 16 clients for the last GPU, 20 times,"
                    + " exactly one wins; 64 waiting clients are all served, in the order of their"
                    + " arrival, across restarts of the daemon")
class ConcurrencyTest {
    private static final int GPUS = 8;
    private static final int RIVALS = 16;
    private static final int REFUSED = 125;
    private static final int ROUNDS = Moments.areAllWanted() ? 100 : 10;

    private static Lab lab;

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.DEBIAN_STABLE, GPUS);
        lab.engine().image("glibc");
    }

    @AfterAll
    static void close() {
        lab.close();
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

    private static void holdAllButOne() {
        lab.jnvdocker("run", "-d", "--gpus", GPUS - 1, "--name=others", "plain", "sleep", "1000")
                .ok();
    }

    @Test
    void oneOfSixteenStartsAContainerOnTheLastGpu() throws Exception {
        holdAllButOne();
        for (int round = 1; round <= ROUNDS; round++) {
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
