package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/**
 * With a broken or hostile daemon or environment, the client ends, says why, leaves nothing behind,
 * and never touches memory that is not its own.
 */
@Attack(
        by = "a fault",
        what = "a program prints a little now and then after the daemon has had enough of it",
        result = "the client ends it after 2 s")
class HostileDaemonTest extends SanitizedClientTest {

    static List<FrameScripts.Kept> kept() {
        return FrameScripts.all();
    }

    @ParameterizedTest
    @MethodSource("kept")
    void keptScriptEndsAsItSays(FrameScripts.Kept kept) {
        FrameModel.End end = FrameModel.end(kept.bytes());
        Script script = Script.saying(kept.bytes());
        Command.Result result = end.retries() ? client.runAndEnd(script) : client.run(script);
        assertEquals(kept.exitCode(), result.exitCode(), result::toString);
        assertTrue(result.err().contains(kept.words()), result::toString);
        assertEquals(kept.exitCode(), end.exitCode(), "the model is wrong");
        assertEquals(end.out(), result.out());
    }

    @Test
    void daemonMayHangUpAtEveryByte() {
        byte[] talk =
                new Frames()
                        .out("out\n").err("err\n").call(1, "talking").stream("talking")
                                .more()
                                .enough()
                                .exec("quiet", "word")
                                .toBytes();
        IntStream.range(0, talk.length)
                .parallel()
                .forEach(length -> {
                    byte[] cut = Arrays.copyOf(talk, length);
                    Command.Result result = client.run(Script.saying(cut));
                    assertRefused(result);
                    assertEquals(FrameModel.end(cut).out(), result.out());
                });
    }

    @Test
    void bytesThatComeOneByOneAreOneFrame() {
        String text = "x".repeat(64 * KIB);
        byte[] frames = new Frames().out(text).exit(7).toBytes();
        Command.Result result = client.run(Script.inPieces(frames, 1));
        assertEquals(7, result.exitCode(), result::err);
        assertEquals(text, result.out());
    }

    @Test
    void longestFrameIsWritten() {
        String text = "x".repeat(8 * KIB * KIB);
        Command.Result result = client.run(Script.saying(new Frames().out(text).exit(7).toBytes()));
        assertEquals(7, result.exitCode(), result::err);
        assertEquals(text, result.out());
    }

    @Test
    void frameOfNothingButEmptyWordsIsACommand() {
        String[] words = new String[100_000];
        Arrays.fill(words, "");
        words[0] = "failing";
        Command.Result result = client.run(Script.saying(new Frames().exec(words).toBytes()));
        assertEquals(3, result.exitCode(), result::err);
    }

    @Test
    void commandThatTheKernelRefusesIsNamed() {
        String[] words = new String[1_000_000];
        Arrays.fill(words, "");
        words[0] = "failing";
        Command.Result result = client.run(Script.saying(new Frames().exec(words).toBytes()));
        assertRefused(result);
        assertTrue(result.err().contains("cannot run 'failing'"), result::err);
    }

    /** A descriptor that the caller shares with other processes may be non-blocking. */
    @Test
    void outputThatDoesNotWaitIsWrittenWhole() {
        String text = "x".repeat(KIB * KIB);
        String script =
                "set -o pipefail; /usr/bin/perl -e 'use Fcntl;"
                        + " fcntl(STDOUT, F_SETFL, O_WRONLY | O_NONBLOCK); exec @ARGV' \"$0\" run"
                        + " | { /bin/sleep 0.2; /bin/cat; }";
        Path socket = client.newSocket();
        byte[] frames = new Frames().out(text).exit(7).toBytes();
        try (HostileDaemon _ = new HostileDaemon(socket, Script.saying(frames))) {
            Command.Result result =
                    client.command(socket, "/bin/bash", "-c", script, SanitizedClient.program())
                            .run();
            assertEquals(7, result.exitCode(), result::err);
            assertEquals(text, result.out());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 5, 20})
    void daemonMayHangUpAmidTheRequest(int byteCount) {
        assertRefused(client.run(Script.hanging(byteCount)));
    }

    @Test
    void silentDaemonIsLeftWhenItEnds() throws Exception {
        Path socket = client.newSocket();
        Process process;
        try (HostileDaemon daemon = new HostileDaemon(socket, Script.saying(new byte[0]))) {
            process =
                    client.command(socket, SanitizedClient.program(), "run", "--gpus=1", "image")
                            .start();
            daemon.awaitVisitor();
        }
        assertRefused(ended(process));
    }

    @Test
    void daemonThatReadsNothingIsLeftWhenItEnds() throws Exception {
        Path socket = client.newSocket();
        Process process;
        CountDownLatch end = new CountDownLatch(1);
        Script deaf =
                _ -> {
                    end.await();
                    return new byte[0];
                };
        String[] words = new String[17];
        Arrays.fill(words, "x".repeat(100 * KIB));
        words[0] = SanitizedClient.program().toString();
        words[1] = "run";
        words[2] = "--gpus=1";
        try (HostileDaemon daemon = new HostileDaemon(socket, deaf)) {
            process = client.command(socket, (Object[]) words).start();
            daemon.awaitVisitor();
        }
        end.countDown();
        assertRefused(ended(process));
    }

    /** A hundred runs, since either the program or the client may be the quicker one. */
    @Test
    void programOfADaemonThatTalksNonsenseEndsWithTheClient() {
        byte[] nonsense = new Frames().stream("endless").exit(1).toBytes();
        byte[] deserted = new Frames().stream("endless").toBytes();
        IntStream.range(0, 50)
                .parallel()
                .forEach(_ -> {
                    assertRefused(logged(Script.saying(nonsense)));
                    assertRefused(logged(Script.saying(deserted)));
                });
        client.assertNothingLeft();
    }

    @Test
    void programEndsWithTheClientThatIsKilled() throws Exception {
        Path socket = client.newSocket();
        byte[] frames = new Frames().err("ready\n").call(1, "endless").toBytes();
        try (HostileDaemon _ = new HostileDaemon(socket, Script.saying(frames))) {
            Process process =
                    client.command(socket, SanitizedClient.program(), "run", "--gpus=1", "image")
                            .start();
            assertEquals("ready", process.errorReader().readLine());
            process.destroyForcibly().waitFor();
        }
        client.assertNothingLeft();
    }

    /**
     * The daemon may request that as often as it likes, but not at a higher rate; and a client that
     * watches comes back to it.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 999, 1000})
    void daemonIsQueriedAgainAfterASecondAtLeast(int pauseMillis) {
        List<byte[]> talks =
                List.of(
                        new Frames().out("1\n").again(pauseMillis).toBytes(),
                        new Frames().out("2\n").announce('T', 4).toBytes(),
                        new byte[0],
                        new Frames().out("3\n").again(pauseMillis).toBytes(),
                        new Frames().exit(9).toBytes());
        AtomicInteger requested = new AtomicInteger();
        Script script = it -> Script.saying(talks.get(requested.getAndIncrement())).play(it);
        long began = System.nanoTime();
        Command.Result result = client.run(script);
        assertEquals(9, result.exitCode(), result::toString);
        assertEquals("1\n2\n3\n", result.out());
        assertEquals(
                "jnvdocker: the daemon went away; the request is repeated when it is back\n"
                        .repeat(2),
                result.err());
        assertTrue(System.nanoTime() - began >= 2_000_000_000L, "it retried too soon");
    }

    @Test
    void streamThatIsEnoughEndsItsProgram() {
        byte[] frames = new Frames().stream("endless").enough().exit(6).toBytes();
        assertEquals(6, client.run(Script.saying(frames)).exitCode());
    }

    /** Even though the program never prints anything, like a reader of a pipe without a writer. */
    @Test
    void streamOfWhichNothingComesMayBeEnough() {
        byte[] frames =
                new Frames().stream("endless").more().enough().err("late\n").exit(6).toBytes();
        Command.Result result = client.run(Script.saying(frames));
        assertEquals(6, result.exitCode(), result::toString);
        assertEquals("late\n", result.err());
    }

    /** A little now and then is no reason to wait for more. */
    @Test
    @Timeout(60)
    void streamOfWhichLittleComesMayBeEnough() {
        byte[] frames = new Frames().stream("dripping").more().enough().exit(6).toBytes();
        Command.Result result = client.run(Script.saying(frames));
        assertEquals(6, result.exitCode(), result::toString);
    }

    @Test
    void streamOfWhichNothingComesEndsWithTheDaemon() {
        assertRefused(client.run(Script.saying(new Frames().stream("endless").more().toBytes())));
    }

    /** Characters that a terminal would act upon are escaped. */
    @Test
    void nameOfAProgramThatCannotRunIsHarmless() {
        String name = "bad\u001b[31m\u202e\u00e9\ud83d\ude00";
        Command.Result result = client.run(Script.saying(new Frames().exec(name).toBytes()));
        assertRefused(result);
        assertTrue(
                result.err().contains("cannot run 'bad\\u{1b}[31m\\u{202e}\u00e9\ud83d\ude00'"),
                result::err);
    }

    /**
     * Uses a log file: a program left behind would keep open a pipe that the test reads to its end.
     */
    private static Command.Result logged(Script script) {
        Path socket = client.newSocket();
        Path log = socket.resolveSibling(socket.getFileName() + ".log");
        try (HostileDaemon _ = new HostileDaemon(socket, script)) {
            Process process =
                    client.command(socket, SanitizedClient.program(), "run").log(log).start();
            return new Command.Result(process.waitFor(), "", Files.readString(log));
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Command.Result ended(Process process) throws Exception {
        assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the client does not end");
        return new Command.Result(
                process.exitValue(),
                new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8),
                new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8));
    }

    private static void assertRefused(Command.Result result) {
        assertEquals(REFUSED, result.exitCode(), result::toString);
        assertTrue(result.err().contains("jnvdocker: "), result::toString);
    }
}
