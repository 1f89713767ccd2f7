package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** {@code --gpu-wait}: first come, first served, and no client starves. */
@Tag("docker")
@Tag("root")
@Attack(
        by = "a member",
        what = "starts a thousand clients that wait, at once",
        result = "256 wait, the others are refused; the daemon has memory for all")
@Attack(
        by = "a member",
        what = "holds some GPUs and waits for all, to freeze the rest",
        result = "others are served, and `gpu queue` says why")
class WaitingTest {
    /** The user who waits, other than the one whose containers hold the GPUs. */
    private static final int ALICE = 61001;

    private static final AtomicInteger NUMBERS = new AtomicInteger();

    private static Lab lab;
    private static Path directory;
    private final List<Process> started = new ArrayList<>();

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.DEBIAN_STABLE, 8);
        directory = Directories.make("waiting");
    }

    @AfterAll
    static void close() {
        lab.close();
        Directories.remove(directory);
    }

    @AfterEach
    void nothingIsLeft() {
        started.forEach(Process::destroyForcibly);
        lab.startDaemon();
        lab.clear();
    }

    /** A running client, and its output so far. */
    private record Client(Process process, Path said) {
        String err() {
            try {
                return Files.exists(said) ? Files.readString(said) : "";
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        void awaitSaid(String words) {
            Lab.await(() ->
                    err().contains(words) ? List.of() : List.of(words + " is not in: " + err()));
        }

        int code() throws InterruptedException {
            assertTrue(process.waitFor(1, TimeUnit.MINUTES), "the client still runs");
            return process.exitValue();
        }
    }

    private Client waiting(String name, String gpus, Object... options) {
        List<Object> words =
                new ArrayList<>(
                        List.of("run", "--rm", "--name", name, "--gpus", gpus, "--gpu-wait"));
        words.addAll(Arrays.asList(options));
        words.addAll(List.of("plain", "true"));
        return start(name, lab.as(ALICE, words.toArray()));
    }

    private Client start(String name, Command command) {
        Path said = directory.resolve(name + "." + NUMBERS.incrementAndGet());
        Process process = command.log(said).start();
        started.add(process);
        return new Client(process, said);
    }

    @Test
    void waitingClientLearnsTheHolderAndIsServedAfterIt() throws Exception {
        lab.run("train", 3);
        Client client = waiting("next", "device=3");
        client.awaitSaid(
                "jnvdocker: waiting for GPU 3, next in the queue; GPU 3 (GPU-5c1a3009) is held by");
        client.awaitSaid("container train since");
        lab.docker("rm", "-f", "train").ok();
        assertEquals(0, client.code(), client::err);
        assertTrue(
                client.err().contains("jnvdocker: got GPU 3 (GPU-5c1a3009) after "), client::err);
    }

    @Test
    void whatIsFreeIsGivenAtOnceAndWithoutAWord() throws Exception {
        Client client = waiting("next", "8");
        assertEquals(0, client.code());
        // Docker may print warnings of its own about packet forwarding on the host.
        assertFalse(client.err().contains("jnvdocker:"), client::err);
    }

    @Test
    void variableMeansTheSameAndTheOptionWins() throws Exception {
        lab.run("train", 3);
        Client client =
                start(
                        "next",
                        lab.daemon()
                                .jnvdocker("run", "--rm", "--gpus", "device=3", "plain", "true")
                                .with("NV_GPU_WAIT", "1"));
        client.awaitSaid("next in the queue");
        Command.Result not =
                lab.daemon()
                        .jnvdocker("run", "--rm", "--gpu-wait=false", "--gpus", "device=3", "plain")
                        .with("NV_GPU_WAIT", "forever")
                        .run();
        assertEquals(125, not.exitCode(), not::toString);
        lab.docker("rm", "-f", "train").ok();
        assertEquals(0, client.code(), client::err);
    }

    @Test
    void waitEndsWithItsTime() {
        lab.run("train", 3);
        Command.Result result =
                lab.jnvdocker("run", "--rm", "--gpus", "device=3", "--gpu-wait=0m1s", "plain");
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(
                result.err().contains("jnvdocker: gave up after 1s: GPU 3 (GPU-5c1a3009) is held"),
                result::toString);
        assertNobodyWaits();
    }

    /** The request for eight GPUs is overtaken by no other client, waiting or not. */
    @Test
    void whoCameFirstIsServedFirstAlsoWhenItWantsMore() throws Exception {
        lab.run("train", 3);
        Client eight = waiting("eight", "all");
        eight.awaitSaid("waiting for all GPUs, next in the queue");
        String why = lab.jnvdocker("gpu", "why", "eight").ok().out();
        assertTrue(why.startsWith("uid 61001 has waited for all GPUs since "), why);
        assertTrue(why.endsWith(", for container eight, at place 1 of the queue.\n"), why);
        // Those that are kept for it.
        Command.Result find = lab.jnvdocker("gpu", "find", "--json");
        assertTrue(find.out().contains("\"free\" : 0,"), find::toString);
        Client one = waiting("one", "1");
        one.awaitSaid("waiting for 1 GPU, number 2 in the queue");
        assertTrue(one.err().contains("are kept for uid 61001 (pid "), one::err);
        Command.Result hasty = lab.jnvdocker("run", "--rm", "--gpus", "1", "plain", "true");
        assertEquals(125, hasty.exitCode(), hasty::toString);
        assertTrue(hasty.err().contains("kept for uid 61001 (pid "), hasty::toString);
        lab.docker("rm", "-f", "train").ok();
        assertEquals(0, eight.code(), eight::err);
        assertEquals(0, one.code(), one::err);
    }

    /** A client that waits for a held GPU does not block the other GPUs. */
    @Test
    void otherGpusAreGivenMeanwhile() throws Exception {
        lab.run("train", 3);
        Client client = waiting("next", "device=3");
        client.awaitSaid("next in the queue");
        for (int i = 0; i < 8; i++) {
            assertEquals(0, waiting("other", "7").code());
        }
        lab.docker("rm", "-f", "train").ok();
        assertEquals(0, client.code(), client::err);
    }

    /** Only she can end what she waits for, so no free GPU is kept for her. */
    @Test
    void clientThatWaitsForItsOwnUsersGpusIsPassedByWithTheReason() throws Exception {
        lab.as(ALICE, "run", "-d", "--name", "own", "--gpus", "device=0,1", "plain", "sleep", "99")
                .run()
                .ok();
        Client eight = waiting("eight", "all");
        eight.awaitSaid("; others are served meanwhile: uid 61001 already holds GPUs 0,1");
        Command.Result hasty = lab.jnvdocker("run", "--rm", "--gpus", "6", "plain", "true");
        assertEquals(0, hasty.exitCode(), hasty::toString);
        String queue = lab.jnvdocker("gpu", "queue", "--json").ok().out();
        assertTrue(queue.contains("\"obstacle\" : \"uid 61001 already holds GPUs 0,1\""), queue);
        lab.docker("rm", "-f", "own").ok();
        assertEquals(0, eight.code(), eight::err);
    }

    @Test
    void gpusThatComeAndGoWhileOneWaits() throws Exception {
        try (var hidden = new Hidden(7)) {
            lab.jnvdocker("run", "-d", "--name", "train", "--gpus", "all", "plain", "sleep", "99")
                    .ok();
            Client one = waiting("one", "1");
            one.awaitSaid("next in the queue");
            hidden.show();
            assertEquals(0, one.code(), one::err);
        }
        lab.run("other", 7);
        Client seven = waiting("seven", "device=7");
        seven.awaitSaid("next in the queue");
        try (var _ = new Hidden(7)) {
            lab.docker("rm", "-f", "other").ok();
            seven.awaitSaid("; others are served meanwhile: the driver does not show GPU 7");
            assertTrue(seven.process().isAlive());
        }
        assertEquals(0, seven.code(), seven::err);
    }

    /** A GPU that the driver does not show for a while. */
    private static final class Hidden implements AutoCloseable {
        private final Path shown;
        private final Path aside;

        Hidden(int index) throws IOException {
            Path driver = lab.host().directory().resolve("proc/driver/nvidia");
            try (var gpus = Files.list(driver.resolve("gpus"))) {
                shown = gpus.sorted().skip(index).findFirst().orElseThrow();
            }
            aside = driver.resolve("gpu-aside");
            Files.move(shown, aside);
        }

        void show() throws IOException {
            if (Files.exists(aside)) {
                Files.move(aside, shown);
            }
        }

        @Override
        public void close() throws IOException {
            show();
        }
    }

    @Test
    void whoIsGoneGivesThePlaceUp() throws Exception {
        lab.run("train", 3);
        Client first = waiting("first", "all");
        first.awaitSaid("next in the queue");
        Client second = waiting("second", "1");
        second.awaitSaid("number 2 in the queue");
        first.process().destroyForcibly().waitFor();
        assertEquals(0, second.code(), second::err);
    }

    /** HUP is what a terminal sends that hangs up. */
    @ParameterizedTest
    @CsvSource({"TERM, 143", "HUP, 129"})
    void signalEndsTheWait(String signal, int code) throws Exception {
        lab.run("train", 3);
        Client client = waiting("next", "device=3");
        client.awaitSaid("next in the queue");
        Command.of("kill", "-" + signal, client.process().pid()).run().ok();
        assertEquals(code, client.code());
        assertNobodyWaits();
    }

    @Test
    void mountOverTheClaimIsRefusedBeforeTheWait() {
        lab.run("train", 3);
        Command.Result result =
                lab.jnvdocker(
                        "run",
                        "--rm",
                        "--gpus=device=3",
                        "--gpu-wait=1m",
                        "-v",
                        directory + ":/run/jnvdocker",
                        "plain");
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(result.err().contains("/run/jnvdocker"), result::toString);
        assertFalse(result.err().contains("waiting for"), result::toString);
    }

    private static void assertNobodyWaits() {
        Lab.await(() -> {
            long tickets = lab.registry().tickets();
            return tickets == 0 ? List.of() : List.of(tickets + " wait");
        });
    }

    @Test
    void placeIsKeptAcrossARestartOfTheDaemon() throws Exception {
        lab.run("train", 3);
        Client first = waiting("first", "all");
        first.awaitSaid("next in the queue");
        Client second = waiting("second", "1");
        second.awaitSaid("number 2 in the queue");
        for (int i = 0; i < 3; i++) {
            if (i == 1) {
                lab.daemon().stop();
            } else {
                lab.daemon().kill();
            }
            lab.startDaemon();
            // No other client is served before the waiting ones have come back.
            Command.Result hasty = lab.jnvdocker("run", "--rm", "--gpus", "1", "plain", "true");
            assertEquals(125, hasty.exitCode(), hasty::toString);
        }
        first.awaitSaid("jnvdocker: the daemon went away; the request is repeated when it is back");
        Lab.await(() ->
                second.err().split("number 2 in the queue", -1).length > 2
                        ? List.of()
                        : List.of(second.err()));
        assertFalse(second.err().contains("next in the queue"), second::err);
        lab.docker("rm", "-f", "train").ok();
        assertEquals(0, first.code(), first::err);
        assertEquals(0, second.code(), second::err);
    }

    /** The daemon need not be started by hand: the first waiting client does so after a while. */
    @Test
    void whoWaitsStartsTheDaemonWhenNobodyElseDoes() throws Exception {
        lab.run("train", 3);
        Client client = waiting("next", "device=3");
        client.awaitSaid("next in the queue");
        lab.daemon().kill();
        lab.docker("rm", "-f", "train").ok();
        assertEquals(0, client.code(), client::err);
    }

    /** At most 256 may wait; the daemon has memory for those that come all the same. */
    @Test
    void aThousandAtOnceWaitOrAreRefused() {
        Process holder = lab.as(ALICE, "gpu", "run", "--gpus=all", "sleep", "1000").start();
        started.add(holder);
        Lab.await(() ->
                lab.jnvdocker("gpu", "leases", "--json").json().isEmpty()
                        ? List.of("nothing is held")
                        : List.of());
        long daemon = lab.daemon().pid().orElseThrow();
        String many =
                "for i in $(seq 1000); do SUDO_UID=$((62000 + i % 50)) \"$0\" gpu run --gpu-wait"
                        + " --gpus=device=0 true 2> \"$1/$i\" & done; wait";
        Path said = Directories.make("many");
        Process all =
                Command.of(
                                "setsid",
                                "sh",
                                "-c",
                                many,
                                Project.tree().resolve("bin/jnvdocker"),
                                said)
                        .with(lab.daemon().environment())
                        .start();
        try {
            String count = "cd \"$0\" && cat -- * | grep -c '256 clients already wait' || true";
            Lab.await(() -> {
                String refused = Command.of("sh", "-c", count, said).run().ok().out().strip();
                int waiting = lab.jnvdocker("gpu", "queue", "--json").json().size();
                return waiting == 256 && refused.equals("744")
                        ? List.of()
                        : List.of(waiting + " wait, refused: " + refused);
            });
            assertEquals(daemon, lab.daemon().pid().orElseThrow());
        } finally {
            Command.of("pkill", "-KILL", "--session", all.pid()).run();
            Directories.remove(said);
        }
        Lab.await(() ->
                lab.jnvdocker("gpu", "queue", "--json").json().isEmpty()
                        ? List.of()
                        : List.of("some wait"));
    }
}
