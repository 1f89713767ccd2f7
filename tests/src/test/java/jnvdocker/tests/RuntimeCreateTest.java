package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.RecordingHelper;
import jnvdocker.tests.world.RuntimeProgram;
import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * The creation of a container that may have GPUs, under sanitizers: the daemon's answer is carried
 * out, and without a valid answer the container is refused, with the reason where engines read it.
 */
@Attack(
        by = "a fault",
        what = "the daemon goes away after seconds of silence, and is back 8 s later",
        result = "the container waits for it: 10 s count from when it went away")
class RuntimeCreateTest {
    private static final String OLD = "{\"env\":[\"NVIDIA_VISIBLE_DEVICES=all\"]}";
    private static final String NEW = "{\"env\":[\"NVIDIA_VISIBLE_DEVICES=void\"]}\n";
    private static final int MIB = 1 << 20;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path directory = Directories.make("oci");
    private final Path bundle = directory.resolve("bundle");
    private final Path config = bundle.resolve("config.json");
    private final Path log = directory.resolve("log");
    private RecordingHelper real;
    private RuntimeProgram runtime;

    @BeforeEach
    void install() throws IOException {
        Path bin = Files.createDirectory(directory.resolve("bin"));
        real = new RecordingHelper(bin, "runc");
        runtime =
                new RuntimeProgram(
                        directory, SanitizedClient.runtimeProgram(), bin.resolve("runc"));
        Files.createDirectory(bundle);
        Files.writeString(config, OLD);
    }

    @AfterEach
    void removeAll() {
        Directories.remove(directory);
    }

    // ---- edits ----

    @Test
    void answerTakesThePlaceOfTheOldText() throws IOException {
        Files.setPosixFilePermissions(config, PosixFilePermissions.fromString("rw-r-----"));
        byte[] answer =
                new Frames()
                        .err("a remark\n")
                        .out(NEW.substring(0, 9))
                        .out(NEW.substring(9))
                        .exit(0)
                        .toBytes();
        for (int length : new int[] {1, 3, answer.length}) {
            Files.writeString(config, OLD);
            Command.Result result = answered(Script.inPieces(answer, length));
            assertPassedOn(result, "a remark\n");
            assertEquals(NEW, Files.readString(config));
            assertEquals(
                    "rw-r-----",
                    PosixFilePermissions.toString(Files.getPosixFilePermissions(config)));
            assertNothingElse();
        }
    }

    @Test
    @Tag("root")
    void newTextBelongsToWhomTheOldBelonged() throws IOException {
        Command.of("chown", "1234:5678", config).run().ok();
        assertPassedOn(answered(saying(new Frames().out(NEW).exit(0))), "");
        assertEquals(1234, Files.getAttribute(config, "unix:uid"));
        assertEquals(5678, Files.getAttribute(config, "unix:gid"));
    }

    @Test
    void withoutATextNothingChanges() throws IOException {
        Object before = Files.getAttribute(config, "unix:ino");
        assertPassedOn(answered(saying(new Frames().exit(0))), "");
        assertEquals(before, Files.getAttribute(config, "unix:ino"));
        assertEquals(OLD, Files.readString(config));
    }

    @Test
    void leftoverOfOneThatWasKilledIsTakenAway() throws IOException {
        Files.writeString(bundle.resolve("config.json.jnvdocker"), "half a te");
        assertPassedOn(answered(saying(new Frames().out(NEW).exit(0))), "");
        assertEquals(NEW, Files.readString(config));
        assertNothingElse();
    }

    @Test
    void textThatCannotBeWrittenIsARefusal() throws IOException {
        Files.createDirectories(bundle.resolve("config.json.jnvdocker/full"));
        Command.Result result = answered(saying(new Frames().out(NEW).exit(0)));
        assertRefused(result, "cannot write config.json of bundle '" + bundle + "': File exists");
        assertEquals(OLD, Files.readString(config));
    }

    @Test
    @Tag("root")
    void fullDiskIsARefusal() throws IOException {
        String script =
                "mount -t tmpfs -o size=16k tmpfs \"$1\" && echo '{\"x\":\"NVIDIA_\"}' >"
                        + " \"$1/config.json\" && \"$0\" --log \"$2\" create -b \"$1\" c1; code=$?;"
                        + " ls \"$1\"; cat \"$1/config.json\"; exit $code";
        String longer = "{\"a\":\"" + "x".repeat(64 << 10) + "\"}";
        Command.Result result;
        try (HostileDaemon _ =
                new HostileDaemon(runtime.socket(), saying(new Frames().out(longer).exit(0)))) {
            result =
                    Command.of("unshare", "-m", "bash", "-c", script, runtime.path(), bundle, log)
                            .with("ASAN_OPTIONS", "detect_leaks=0")
                            .run();
        }
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals("config.json\n{\"x\":\"NVIDIA_\"}\n", result.out());
        assertTrue(result.err().contains("No space left on device"), result::toString);
    }

    // ---- refusals ----

    @Test
    void refusalIsReadByEveryEngine() throws IOException {
        String why = "2 GPUs of 4 are free \u2013 \"a\\b\"\nsee 'jnvdocker gpu ls'";
        assertRefused(answered(saying(new Frames().refuse(why))), why);
        assertEquals(OLD, Files.readString(config));
        assertNothingElse();
    }

    static Stream<Map.Entry<byte[], String>> badAnswers() {
        return Stream.of(
                Map.entry(new Frames().exit(1).toBytes(), "failed with code 1"),
                Map.entry(new Frames().out("{}").exit(125).toBytes(), "failed with code 125"),
                Map.entry(new Frames().refuse("").toBytes(), "refused without a reason"),
                Map.entry(new Frames().out(NEW).toBytes(), "went away"),
                Map.entry(new Frames().err("").toBytes(), "went away"),
                Map.entry(new byte[0], "went away"),
                Map.entry(new byte[] {'F', 0}, "went away"),
                Map.entry(new Frames().announce('O', 9).toBytes(), "went away"),
                Map.entry(new Frames().announce('O', 9 * MIB).toBytes(), "frame of 9437184 bytes"),
                Map.entry(new Frames().announce('F', -1).toBytes(), "frame of 4294967295 bytes"),
                Map.entry(
                        new Frames().out("x".repeat(8 * MIB)).out("x").exit(0).toBytes(),
                        "frame of 1 bytes"),
                Map.entry(new Frames().exec("sh").toBytes(), "frame of unknown type 88"),
                Map.entry(new Frames().call(0, "sh").toBytes(), "frame of unknown type 67"),
                Map.entry("HTTP/1.1 200 OK\r\n\r\n".getBytes(), "frame of 1414811695 bytes"),
                Map.entry(new Frames().frame('T', new byte[0]).toBytes(), "exit code of 0 bytes"),
                Map.entry(new Frames().frame('T', new byte[5]).toBytes(), "exit code of 5 bytes"),
                Map.entry(new Frames().out("[]").exit(0).toBytes(), "no JSON object"),
                Map.entry(new Frames().out("{").exit(0).toBytes(), "no JSON object"),
                Map.entry(new Frames().out("{\0}").exit(0).toBytes(), "no JSON object"));
    }

    @ParameterizedTest
    @MethodSource("badAnswers")
    void badAnswersRefuseTheContainer(Map.Entry<byte[], String> bad) throws IOException {
        assertRefused(answered(Script.saying(bad.getKey())), bad.getValue());
        assertEquals(OLD, Files.readString(config));
        assertNothingElse();
    }

    /** Wherever an answer is cut off. */
    @Test
    void keptFramesNeverDoHarm() throws IOException {
        for (FrameScripts.Kept kept : FrameScripts.all()) {
            if (kept.bytes().length > 0 && !kept.name().startsWith("wait")) {
                Files.writeString(config, OLD);
                Command.Result result = answered(Script.saying(kept.bytes()));
                if (result.exitCode() == RecordingHelper.EXIT_CODE) {
                    real.call();
                    JSON.readTree(Files.readString(config));
                } else {
                    assertEquals(1, result.exitCode(), kept + ": " + result);
                    assertEquals(OLD, Files.readString(config));
                }
                assertNothingElse();
            }
        }
    }

    @Test
    void silentDaemonIsLeft() throws IOException {
        Script silent =
                client -> {
                    Thread.sleep(60_000);
                    return new byte[0];
                };
        Instant began = Instant.now();
        assertRefused(answered(silent), "jnvdockerd did not answer within 3 s");
        assertTrue(Duration.between(began, Instant.now()).toSeconds() < 30);
    }

    /** A remark does not count as an answer. */
    @Test
    void talkativeDaemonIsLeft() throws IOException {
        Script talkative =
                client -> {
                    for (int i = 0; i < 200; i++) {
                        client.write(ByteBuffer.wrap(new Frames().waits().err("").toBytes()));
                        Thread.sleep(50);
                    }
                    return new byte[0];
                };
        assertRefused(answered(talkative), "jnvdockerd did not answer within 3 s");
    }

    @Test
    void deadDaemonIsWaitedForThenRefused() throws IOException {
        Instant began = Instant.now();
        assertRefused(
                run("json"),
                "no jnvdockerd answers at "
                        + runtime.socket()
                        + " (No such file or folder); start it, 'systemctl status jnvdocker'");
        long seconds = Duration.between(began, Instant.now()).toSeconds();
        assertTrue(seconds >= 10 && seconds < 30, "seconds: " + seconds);
    }

    @Test
    void daemonThatComesIsQueried() throws Exception {
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), Script.hanging(0))) {
            // This leaves behind a socket that refuses connections.
        }
        Process process = command("json").start();
        Thread.sleep(1_500);
        Files.delete(runtime.socket());
        Thread.sleep(1_500);
        try (HostileDaemon _ =
                new HostileDaemon(runtime.socket(), saying(new Frames().out(NEW).exit(0)))) {
            assertEquals(RecordingHelper.EXIT_CODE, process.waitFor());
        }
        assertEquals(NEW, Files.readString(config));
    }

    /** However long the last one took until it went away. */
    @Test
    void daemonThatGoesAwayIsWaitedForFromThenOn() throws Exception {
        Process process;
        try (HostileDaemon silent = new HostileDaemon(runtime.socket(), Script.hanging(MIB))) {
            process = command("json").start();
            silent.awaitVisitor();
            Thread.sleep(1_000);
        }
        Thread.sleep(6_000);
        Files.delete(runtime.socket());
        try (HostileDaemon _ =
                new HostileDaemon(runtime.socket(), saying(new Frames().out(NEW).exit(0)))) {
            assertEquals(RecordingHelper.EXIT_CODE, process.waitFor());
        }
        assertEquals(NEW, Files.readString(config));
    }

    @Test
    void daemonThatWasStoppedJustThenIsQueriedAgain() throws IOException {
        AtomicInteger requested = new AtomicInteger();
        byte[] answer = new Frames().out(NEW).exit(0).toBytes();
        Command.Result result =
                answered(client ->
                        Script.saying(requested.getAndIncrement() < 2 ? new byte[0] : answer)
                                .play(client));
        assertPassedOn(result, "");
        assertEquals(3, requested.get());
        assertEquals(NEW, Files.readString(config));
    }

    @Test
    @Tag("root")
    void socketOfAnotherUserIsNotObeyed() throws Exception {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        String server =
                "use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen =>"
                        + " 1); $| = 1; print \"ready\\n\"; my $c = $s->accept; print $c"
                        + " \"T\\0\\0\\0\\4\\0\\0\\0\\0\"; sleep 30";
        Process process =
                Command.of("perl", "-e", server, runtime.socket()).as(1234, "1234").start();
        assertEquals("ready", process.inputReader().readLine());
        assertRefused(run("json"), "of uid 1234 and not by root");
        process.destroy();
    }

    // ---- config.json in every state ----

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rm config.json|No such file or folder",
                "mv config.json other; ln -s other config.json|it is a link",
                "rm config.json; mkfifo config.json|it is no regular file",
                "rm config.json; mkdir config.json|it is no regular file",
                "truncate -s 4194305 config.json|it is longer than 4 MiB",
                "printf 'NVIDIA_\\0' > config.json|has a zero byte",
            })
    void configThatCannotBeSentIsRefused(String states) throws IOException {
        String[] parts = states.split("\\|");
        Command.of("sh", "-c", parts[0]).in(bundle).run().ok();
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), saying(new Frames().exit(0)))) {
            assertRefused(run("json"), parts[1]);
        }
    }

    @Test
    void longestTextIsSentWhole() throws IOException {
        String text = "{\"NVIDIA_\":\"" + "x".repeat(4 * MIB - 14) + "\"}";
        Files.writeString(config, text);
        try (HostileDaemon daemon =
                new HostileDaemon(runtime.socket(), saying(new Frames().out(text).exit(0)))) {
            assertPassedOn(run("json"), "");
            assertTrue(daemon.received().length > 4 * MIB);
        }
        assertEquals(text, Files.readString(config));
    }

    @Test
    void missingBundleIsNamed() throws IOException {
        Directories.remove(bundle);
        assertRefused(run("json"), "cannot open bundle '" + bundle + "': No such file or folder");
        Files.writeString(bundle, "");
        assertRefused(run("json"), "Not a folder");
    }

    @Test
    void oddIdIsRefusedOnlyWithGpus() throws IOException {
        for (String id : List.of("../c1", "a/b", ".x", "_x", "-", "x".repeat(256), "caf\u00e9")) {
            Files.writeString(config, OLD);
            assertRefused(with(id).run(), "cannot be the id of a container with GPUs");
            Files.writeString(config, "{}");
            assertPassedOn(with(id).run(), "");
        }
    }

    // ---- the log ----

    @Test
    void logIsAppendedTo() throws IOException {
        Files.writeString(log, "before\n");
        try (HostileDaemon _ =
                new HostileDaemon(runtime.socket(), saying(new Frames().refuse("no")))) {
            run("json");
            run("text");
        }
        List<String> lines = Files.readAllLines(log);
        assertEquals("before", lines.get(0));
        assertEquals("jnvdocker: no", JSON.readTree(lines.get(1)).get("msg").asText());
        assertTrue(
                lines.get(2).matches("time=\"[^\"]+Z\" level=error msg=\"jnvdocker: no\""),
                lines.get(2));
        assertEquals(3, lines.size());
    }

    /** Standard error always has the reason too. */
    @ParameterizedTest
    @ValueSource(strings = {"", "/nowhere/log", "link", "pipe", "bundle", "journald:x", "file:log"})
    void logMayBeAnything(String path) throws IOException {
        Path target = Files.writeString(directory.resolve("target"), "");
        Files.createSymbolicLink(directory.resolve("link"), target);
        Command.of("mkfifo", directory.resolve("pipe")).run().ok();
        try (HostileDaemon _ =
                new HostileDaemon(runtime.socket(), saying(new Frames().refuse("no")))) {
            Command.Result result =
                    runtime.command(
                                    List.of("runc", "--log", path, "create", "-b", "bundle", "c1"),
                                    directory,
                                    Map.of())
                            .run();
            assertEquals(1, result.exitCode());
            assertEquals("jnvdocker: no\n", result.err());
        }
        assertEquals("", Files.readString(target));
        assertEquals(path.equals("file:log"), Files.exists(log));
        assertFalse(Files.exists(directory.resolve("journald:x")));
    }

    // ---- ----

    private static Script saying(Frames frames) {
        return Script.saying(frames.toBytes());
    }

    private Command with(String id) {
        List<String> words = new ArrayList<>(command());
        words.set(words.size() - 1, id);
        return runtime.command(words, directory, Map.of());
    }

    private List<String> command() {
        return List.of(
                "runc",
                "--log",
                log.toString(),
                "--log-format",
                "json",
                "create",
                "--bundle",
                bundle.toString(),
                "--",
                "c1");
    }

    private Command command(String format) {
        List<String> words = new ArrayList<>(command());
        words.set(4, format);
        return runtime.command(words, directory, Map.of());
    }

    private Command.Result run(String format) {
        return command(format).run();
    }

    private Command.Result answered(Script script) {
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), script)) {
            return run("json");
        } finally {
            runtime.socket().toFile().delete();
        }
    }

    private void assertPassedOn(Command.Result result, String remarks) {
        assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
        assertEquals("", result.out());
        assertEquals(remarks, result.err());
        assertEquals(List.of(0, 1, 2), List.copyOf(real.call().descriptors().keySet()));
        assertFalse(Files.exists(log));
    }

    private void assertRefused(Command.Result result, String reason) throws IOException {
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals("", result.out());
        assertFalse(real.wasCalled());
        List<String> lines = Files.readAllLines(log);
        assertEquals(1, lines.size());
        JsonNode line = JSON.readTree(lines.getFirst());
        assertEquals("error", line.get("level").asText());
        String message = line.get("msg").asText();
        assertTrue(message.contains(reason), () -> message + " has no " + reason);
        assertTrue(message.startsWith("jnvdocker: "), message);
        assertEquals(message + "\n", result.err());
        Duration age = Duration.between(Instant.parse(line.get("time").asText()), Instant.now());
        assertTrue(age.toSeconds() >= 0 && age.toSeconds() < 60, age::toString);
        Files.delete(log);
    }

    private void assertNothingElse() throws IOException {
        try (Stream<Path> files = Files.list(bundle)) {
            assertEquals(List.of(config), files.toList());
        }
    }
}
