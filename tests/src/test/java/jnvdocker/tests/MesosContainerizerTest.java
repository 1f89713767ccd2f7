package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.LauncherDirectory;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RecordingHelper;
import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * The program that an agent runs in place of Mesos' helper, under sanitizers: it edits certain
 * calls, passes all others on unchanged, and fails a launch about which it cannot query the daemon,
 * with the reason.
 */
class MesosContainerizerTest {
    private static final String LAUNCH_INFO = "MESOS_CONTAINERIZER_LAUNCH_INFO";
    private static final String RUNTIME = "MESOS_CONTAINERIZER_RUNTIME_DIRECTORY";
    private static final String INFO = "{\"command\":{\"value\":\"true\"}}";
    private static final int REFUSED = 125;
    private static final int KERNEL_LIMIT = 32 * 4096;
    private static final Script UNCHANGED = Script.saying(new Frames().exit(0).toBytes());
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path directory = Directories.make("wrapper");
    private final Path socket = directory.resolve("socket");
    private final Path container = directory.resolve("run/containers/c1");
    private RecordingHelper helper;
    private LauncherDirectory launcher;

    @BeforeEach
    void install() throws IOException {
        helper = new RecordingHelper(Files.createDirectory(directory.resolve("libexec")));
        launcher =
                LauncherDirectory.install(
                        directory.resolve("launcher"),
                        helper.directory(),
                        socket,
                        SanitizedClient.mesosPrograms());
        Files.createDirectories(container);
        Files.writeString(container.resolve("config"), "..gpus..");
    }

    @AfterEach
    void removeAll() {
        Directories.remove(directory);
    }

    // ---- calls that do not concern us ----

    /** No daemon runs, so a call that needed one would be refused. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "--help",
                "mount --operation=make-rslave --path=/",
                "network-cni-setup --pid=1 --rootfs=/",
                "launch",
                "launch --launch_info={}",
                "launch --help=false --launch_info={} --unshare_namespace_mnt=true",
            })
    void callsThatLaunchNoContainerGoStraightToTheHelper(String words) {
        Command.Result result =
                run(List.of(), words.isEmpty() ? List.of() : List.of(words.split(" ")));
        assertPassedOn(result);
        RecordingHelper.Call call = helper.call();
        assertEquals(
                (launcher.containerizer() + " " + words).strip(), String.join(" ", call.argv()));
    }

    @Test
    void callsThatEnterAContainerGoStraightToTheHelper() {
        assertPassedOn(
                run(launch(INFO, "MESOS_CONTAINERIZER_NAMESPACE_MNT_TARGET=1"), List.of("launch")));
        assertEquals(INFO, helper.call().variable(LAUNCH_INFO));
        assertPassedOn(run(List.of(LAUNCH_INFO + "=" + INFO), List.of("launch")));
        assertPassedOn(run(List.of(RUNTIME + "=" + container), List.of("launch")));
    }

    @Test
    void containersWithoutGpusGoStraightToTheHelper() throws IOException {
        Files.writeString(container.resolve("config"), "cpus mem com.example.label PATH=/gpu/s");
        assertPassedOn(run(launch(INFO), List.of("launch")));
        assertEquals(INFO, helper.call().variable(LAUNCH_INFO));
    }

    @Test
    void everythingIsPassedOnByteForByte() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "unread");
        String script =
                "exec 0</dev/null 4<\"$1\" 9<\"$1\" 21>&1; trap '' PIPE CHLD USR1; exec -a odd env"
                    + " -i ASAN_OPTIONS=detect_leaks=0 A= $'B=\\xff\\n\\x01' =x \"$0\" $'\\xfe' ''"
                    + " launch --launch_info= ' '";
        Command.Result result =
                Command.of("bash", "-c", script, launcher.containerizer(), file).run();
        assertPassedOn(result);
        RecordingHelper.Call call = helper.call();
        assertEquals(
                List.of(
                        launcher.containerizer().toString(),
                        "\u00fe",
                        "",
                        "launch",
                        "--launch_info=",
                        " "),
                call.argv());
        assertEquals(
                List.of("ASAN_OPTIONS=detect_leaks=0", "A=", "B=\u00ff\n\u0001", "=x"),
                call.environment());
        assertEquals(List.of(0, 1, 2, 4, 9, 21), List.copyOf(call.descriptors().keySet()));
        assertEquals(file.toString(), call.descriptors().get(9));
        long signals = 1L << (13 - 1) | 1L << (17 - 1) | 1L << (10 - 1);
        assertEquals(signals, call.ignored() & signals);
    }

    @Test
    @Tag("tree")
    void whatIsBuiltNeedsNoLibrary() throws IOException {
        for (String program : new String[] {"mesos-containerizer", "jnvdocker-prestart"}) {
            Path file = Project.tree().resolve("lib/mesos").resolve(program);
            String segments = Command.of("readelf", "-lW", file).run().ok().out();
            assertFalse(segments.contains("INTERP"), segments);
            assertTrue(Files.isExecutable(file));
        }
    }

    @Test
    @Tag("tree")
    void copyThatIsNotInstalledSaysSo() {
        Command.Result result =
                Command.of(Project.tree().resolve("lib/mesos/mesos-containerizer"), "--help").run();
        assertEquals(REFUSED, result.exitCode());
        assertTrue(result.err().contains("run 'jnvdocker mesos install'\n"), result::toString);
    }

    @Test
    void missingHelperIsNamed() throws IOException {
        Files.delete(helper.directory().resolve("mesos-containerizer"));
        Command.Result result = run(List.of(), List.of("--help"));
        assertEquals(REFUSED, result.exitCode());
        assertTrue(result.err().contains("cannot run '" + helper.directory()), result::toString);
    }

    // ---- calls that query the daemon ----

    @Test
    void requestHasAllThatThereIsToKnow() throws IOException {
        try (HostileDaemon daemon = new HostileDaemon(socket, UNCHANGED)) {
            assertPassedOn(run(launch(INFO, "NV_GPU=0"), List.of("launch")));
            assertArrayEquals(
                    request("mesos", "launch", container.toString(), INFO), daemon.received());
        }
        assertEquals(INFO, helper.call().variable(LAUNCH_INFO));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"gpus", "gpu_uuids", "com.nvidia.volumes.needed", "NVIDIA_VISIBLE_DEVICES"})
    void whateverNamesGpusConcernsTheDaemon(String word) throws IOException {
        Files.writeString(container.resolve("config"), "\0\u00ff" + word + "\0");
        assertQueried(container);
    }

    @Test
    void configThatCannotBeReadConcernsTheDaemon() throws IOException {
        Path config = container.resolve("config");
        Files.delete(config);
        assertQueried(container);
        Command.of("mkfifo", config).run().ok();
        assertQueried(container);
        Files.delete(config);
        Files.createDirectory(config);
        assertQueried(container);
        Files.delete(config);
        Files.write(config, new byte[(4 << 20) + 1]);
        assertQueried(container);
        Files.write(config, new byte[4 << 20]);
        assertPassedOn(run(launch(INFO), List.of("launch")));
    }

    @Test
    void whatAContainerIsNestedInCountsToo() throws IOException {
        Path inner = container.resolve("containers/c2");
        Path innermost = inner.resolve("containers/c3");
        Files.createDirectories(innermost);
        Files.writeString(inner.resolve("config"), "cpus");
        Files.writeString(innermost.resolve("config"), "cpus");
        assertQueried(innermost);
        Files.writeString(container.resolve("config"), "cpus");
        Files.writeString(directory.resolve("run/config"), "gpus"); // belongs to no container
        assertPassedOn(run(launchOf(innermost, INFO), List.of("launch")));
    }

    @Test
    void answerIsTheNewLaunchInfo() {
        byte[] answer =
                new Frames()
                        .err("waiting\n")
                        .out("{\"a\":")
                        .waits()
                        .err("still\n")
                        .out("1} ")
                        .exit(0)
                        .toBytes();
        for (int length : new int[] {1, 3, answer.length}) {
            Command.Result result = answered(Script.inPieces(answer, length), INFO);
            assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
            assertEquals("waiting\nstill\n", result.err());
            assertEquals("", result.out());
            assertEquals("{\"a\":1} ", helper.call().variable(LAUNCH_INFO));
        }
    }

    /** The agent's fetcher empties stderr; the remarks are also passed on to jnvdocker-prestart. */
    @Test
    void remarksAreWrittenAgainWhenStderrIsEmptied() throws IOException {
        Path file = Files.createFile(directory.resolve("stderr"));
        Script script =
                client -> {
                    client.write(ByteBuffer.wrap(new Frames().err("waiting\n").toBytes()));
                    await(file, "waiting\n");
                    Files.writeString(file, "I0101 a fetcher's words\n");
                    await(file, "I0101 a fetcher's words\nwaiting\n");
                    byte[] rest = new Frames().err("got it\n").out("{}").exit(0).toBytes();
                    client.write(ByteBuffer.wrap(rest));
                    return new byte[0];
                };
        try (HostileDaemon _ = new HostileDaemon(socket, script)) {
            List<Object> words = new ArrayList<>(List.of("env", "-i"));
            words.add("ASAN_OPTIONS=detect_leaks=0");
            words.addAll(launch(INFO));
            words.addAll(List.of("bash", "-c", "exec \"$0\" launch 2>> \"$1\""));
            words.addAll(List.of(launcher.containerizer(), file));
            Command.Result result = Command.of(words.toArray()).run();
            assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
        }
        assertEquals("I0101 a fetcher's words\nwaiting\ngot it\n", Files.readString(file));
        assertEquals("waiting\ngot it\n", helper.call().variable("JNVDOCKER_REMARKS"));
    }

    private static void await(Path file, String text) throws IOException, InterruptedException {
        for (int tries = 0; !Files.readString(file).equals(text); tries++) {
            assertTrue(tries < 1000, () -> file + " has no " + text);
            Thread.sleep(10);
        }
    }

    @Test
    void daemonThatGoesAwayIsQueriedAgainWhileNothingIsLost() {
        List<byte[]> talks =
                List.of(
                        new byte[0],
                        new Frames().waits().out("{\"lost\":1").toBytes(),
                        new byte[0],
                        new byte[0],
                        new byte[0],
                        new Frames().announce('O', 9).toBytes(),
                        new Frames().out("{\"kept\":1}").exit(0).toBytes());
        AtomicInteger requested = new AtomicInteger();
        Command.Result result =
                answered(
                        it -> Script.saying(talks.get(requested.getAndIncrement())).play(it), INFO);
        assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
        assertEquals("{\"kept\":1}", helper.call().variable(LAUNCH_INFO));
        assertEquals(talks.size(), requested.get());
    }

    @Test
    void closedStandardDescriptorsStayClosed() throws IOException {
        String script = "exec 0<&- 1>&- 2>&-; exec \"$0\" launch";
        byte[] answer = new Frames().err("no one reads\n").out("{\"a\":2}").exit(0).toBytes();
        try (HostileDaemon daemon = new HostileDaemon(socket, Script.saying(answer))) {
            List<String> variables = new ArrayList<>(launch(INFO));
            variables.addAll(List.of("bash", "-c", script, launcher.containerizer().toString()));
            Command.of(variables.toArray()).after("env", "-i").run();
            assertArrayEquals(
                    request("mesos", "launch", container.toString(), INFO), daemon.received());
        }
        RecordingHelper.Call call = helper.call();
        assertEquals("{\"a\":2}", call.variable(LAUNCH_INFO));
        assertEquals(Map.of(), call.descriptors());
    }

    // ---- refusals ----

    static Stream<Map.Entry<byte[], String>> badAnswers() {
        return Stream.of(
                Map.entry(new Frames().exit(1).toBytes(), "failed with code 1"),
                Map.entry(new Frames().out("{}").exit(125).toBytes(), "failed with code 125"),
                Map.entry(new Frames().err("x").toBytes(), "went away"),
                Map.entry(new byte[0], "went away"),
                Map.entry(new byte[] {'O', 0}, "went away"),
                Map.entry(new Frames().announce('O', 9).toBytes(), "went away"),
                Map.entry(new Frames().announce('O', 9 << 20).toBytes(), "frame of 9437184 bytes"),
                Map.entry(new Frames().announce('O', -1).toBytes(), "frame of 4294967295 bytes"),
                Map.entry(new Frames().exec("sh").toBytes(), "frame of unknown type 88"),
                Map.entry(new Frames().call(0, "sh").toBytes(), "frame of unknown type 67"),
                Map.entry(new Frames().frame('T', new byte[0]).toBytes(), "exit code of 0 bytes"),
                Map.entry(new Frames().frame('T', new byte[5]).toBytes(), "exit code of 5 bytes"),
                Map.entry(new Frames().out("[]").exit(0).toBytes(), "no JSON object"),
                Map.entry(new Frames().out("}").exit(0).toBytes(), "no JSON object"),
                Map.entry(new Frames().out("{\0}").exit(0).toBytes(), "no JSON object"));
    }

    @ParameterizedTest
    @MethodSource("badAnswers")
    void badAnswersRefuseTheLaunch(Map.Entry<byte[], String> bad) throws IOException {
        assertRefused(answered(Script.saying(bad.getKey()), INFO), INFO, bad.getValue());
    }

    /** Wherever an answer is cut off. */
    @Test
    void keptFramesNeverDoHarm() throws IOException {
        for (FrameScripts.Kept kept : FrameScripts.all()) {
            if (kept.bytes().length > 0 && !kept.name().startsWith("wait")) {
                Command.Result result = answered(Script.saying(kept.bytes()), INFO);
                assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), kept + ": " + result);
                JSON.readTree(helper.call().variable(LAUNCH_INFO));
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
        assertRefused(answered(silent, INFO), INFO, "did not answer within 3 s");
    }

    @Test
    void missingDaemonIsWaitedForThenRefused() throws IOException {
        Command.Result result = run(launch(INFO), List.of("launch"));
        assertRefused(result, INFO, "no jnvdockerd answers at " + socket);
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '"',
            value = {"{}", "{ }", "\"  {\t}\n \"", "{\"\"a\"\":{}}", "\"{\"\"a\"\":1} \r\n\""})
    void everyLaunchInfoCanBeRefused(String info) throws IOException {
        byte[] answer = new Frames().exit(3).toBytes();
        String text = info.replace("\"\"", "\"");
        assertRefused(answered(Script.saying(answer), text), text, "failed with code 3");
    }

    @Test
    void earlierCommandsDoNotRun() throws IOException {
        String info = "{\"pre_exec_commands\":[{\"value\":\"first\"}],\"a\":1}";
        assertRefused(
                answered(Script.saying(new Frames().exit(3).toBytes()), info), info, "code 3");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "[]", "{", "}", "{]", "true"})
    void whatIsNoLaunchInfoIsNoCall(String info) {
        Command.Result result = answered(Script.saying(new Frames().exit(3).toBytes()), info);
        assertEquals(REFUSED, result.exitCode(), result::toString);
        assertTrue(result.err().contains("failed with code 3"), result::toString);
        assertFalse(helper.wasCalled());
    }

    /** The reason names a socket whose path has quotes, control characters and invalid UTF-8. */
    @Test
    void anyReasonIsAStringOfJson() throws IOException {
        String odd = "/nowhere/\"quoted\\\" \u0001\n\t\u007f \u00e4 \u20ac \ud83d\ude00 ";
        ByteArrayOutputStream path = new ByteArrayOutputStream();
        path.writeBytes(odd.getBytes(StandardCharsets.UTF_8));
        path.writeBytes(
                new byte[] {(byte) 0xff, (byte) 0xc0, (byte) 0x80, (byte) 0xed, (byte) 0xa0});
        path.writeBytes(
                new byte[] {(byte) 0x80, (byte) 0xf4, (byte) 0x90, (byte) 0x80, (byte) 0xe2});
        launcher.settle(
                SanitizedClient.mesosPrograms().resolve("mesos-containerizer"),
                helper.directory()
                        .resolve("mesos-containerizer")
                        .toString()
                        .getBytes(StandardCharsets.UTF_8),
                launcher.prestart().toString().getBytes(StandardCharsets.UTF_8),
                path.toByteArray());
        Command.Result result = run(launch(INFO), List.of("launch"));
        assertRefused(
                result,
                INFO,
                "answers at " + odd + "\ufffd".repeat(10) + " (No such file or directory)");
    }

    // ---- the kernel's limits ----

    @Test
    void launchInfoMayBeAsLongAsTheKernelTakes() throws IOException {
        int room = KERNEL_LIMIT - 1 - (LAUNCH_INFO + "=").length();
        String longest = padded(room);
        Command.Result result =
                answered(Script.saying(new Frames().out(longest).exit(0).toBytes()), longest);
        assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
        assertEquals(longest, helper.call().variable(LAUNCH_INFO));
        byte[] longer = new Frames().out(padded(room + 1)).exit(0).toBytes();
        assertRefused(answered(Script.saying(longer), INFO), INFO, "more than the kernel takes");
    }

    @Test
    void launchInfoWithoutRoomForARefusalIsNoCall() {
        String info = padded(KERNEL_LIMIT - 100);
        Command.Result result = answered(Script.saying(new Frames().exit(3).toBytes()), info);
        assertEquals(REFUSED, result.exitCode(), result::toString);
        assertTrue(
                result.err().contains("jnvdocker: jnvdockerd failed with code 3"),
                result::toString);
        assertFalse(helper.wasCalled());
    }

    // ---- the call of an executor ----

    @Test
    @Tag("root")
    void taskWithTheDriverIsRequested() throws IOException {
        byte[] answer = new Frames().err("a remark\n").out("{\"a\":1}").exit(0).toBytes();
        try (HostileDaemon daemon = new HostileDaemon(socket, Script.saying(answer))) {
            Command.Result result = task("launch", "--a", "--launch_info=" + INFO, "--b");
            assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
            assertEquals("a remark\n", result.err());
            assertArrayEquals(request("mesos", "launch-task", INFO), daemon.received());
        }
        assertEquals(
                List.of("launch", "--a", "--launch_info={\"a\":1}", "--b"), words(helper.call()));
    }

    @ParameterizedTest
    @MethodSource("badAnswers")
    @Tag("root")
    void taskIsNeverRefused(Map.Entry<byte[], String> bad) {
        try (HostileDaemon _ = new HostileDaemon(socket, Script.saying(bad.getKey()))) {
            assertRemarked(task("launch", "--launch_info=" + INFO), bad.getValue());
        }
    }

    @Test
    @Tag("root")
    void taskWaitsForNoDaemon() throws IOException {
        assertRemarked(task("launch", "--launch_info=" + INFO), "no jnvdockerd answers");
        Script talkative =
                client -> {
                    for (int i = 0; i < 200; i++) {
                        client.write(ByteBuffer.wrap(new Frames().err("").toBytes()));
                        Thread.sleep(50);
                    }
                    return new byte[0];
                };
        try (HostileDaemon _ = new HostileDaemon(socket, talkative)) {
            assertRemarked(task("launch", "--launch_info=" + INFO), "did not answer within 5 s");
        }
        byte[] longer = new Frames().out(padded(KERNEL_LIMIT)).exit(0).toBytes();
        Files.delete(socket);
        try (HostileDaemon _ = new HostileDaemon(socket, Script.saying(longer))) {
            assertRemarked(task("launch", "--launch_info=" + INFO), "longer than the kernel takes");
        }
    }

    // ---- ----

    private List<String> launch(String info, String... more) {
        return launchOf(container, info, more);
    }

    private static List<String> launchOf(Path runtime, String info, String... more) {
        List<String> variables =
                new ArrayList<>(List.of(LAUNCH_INFO + "=" + info, RUNTIME + "=" + runtime));
        variables.addAll(List.of(more));
        return variables;
    }

    /** Runs it with these variables and no others. */
    private Command.Result run(List<String> variables, List<String> words) {
        List<Object> all = new ArrayList<>(List.of("env", "-i", "ASAN_OPTIONS=detect_leaks=0"));
        all.addAll(variables);
        all.add(launcher.containerizer());
        all.addAll(words);
        return Command.of(all.toArray()).run();
    }

    private Command.Result answered(Script script, String info) {
        try (HostileDaemon _ = new HostileDaemon(socket, script)) {
            return run(launch(info), List.of("launch"));
        } finally {
            socket.toFile().delete();
        }
    }

    /** Runs it in a container that has the driver volume. */
    private Command.Result task(String... words) {
        String script = "mount -t tmpfs tmpfs \"$1\" && shift && exec \"$0\" \"$@\"";
        Path volume = directory.resolve("rootfs/usr/local/nvidia");
        volume.toFile().mkdirs();
        List<Object> all = new ArrayList<>(List.of("unshare", "-m", "bash", "-c", script));
        all.add(launcher.containerizer());
        all.add(volume);
        all.addAll(List.of(words));
        return Command.of(all.toArray()).with("ASAN_OPTIONS", "detect_leaks=0").run();
    }

    private void assertQueried(Path runtime) {
        try (HostileDaemon daemon = new HostileDaemon(socket, UNCHANGED)) {
            assertPassedOn(run(launchOf(runtime, INFO), List.of("launch")));
            assertTrue(daemon.received().length > 0);
        } finally {
            socket.toFile().delete();
        }
    }

    private static void assertPassedOn(Command.Result result) {
        assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
        assertEquals("", result.out() + result.err());
    }

    private void assertRefused(Command.Result result, String info, String reason)
            throws IOException {
        assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
        String text = helper.call().variable(LAUNCH_INFO);
        String refusal =
                new String(text.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
        JsonNode commands = JSON.readTree(refusal).get("pre_exec_commands");
        assertEquals(1, commands.size(), refusal);
        JsonNode command = commands.get(0);
        assertFalse(command.get("shell").asBoolean(true));
        assertEquals(launcher.prestart().toString(), command.get("value").asText());
        assertEquals("jnvdocker-prestart", command.get("arguments").get(0).asText());
        assertEquals("refuse", command.get("arguments").get(1).asText());
        assertEquals(3, command.get("arguments").size());
        String said = command.get("arguments").get(2).asText();
        assertTrue(said.contains(reason), () -> said + " has no " + reason);
        JsonNode before = JSON.readTree(info);
        for (String name : iterable(before)) {
            if (!name.equals("pre_exec_commands")) {
                assertEquals(before.get(name), JSON.readTree(refusal).get(name));
            }
        }
        assertEquals(
                info.substring(info.lastIndexOf('}')), refusal.substring(refusal.lastIndexOf('}')));
    }

    private void assertRemarked(Command.Result result, String reason) {
        assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
        assertTrue(result.err().contains(reason), result::toString);
        assertTrue(
                result.err().endsWith("; LD_LIBRARY_PATH stays as the task has it\n"),
                result::toString);
        assertEquals(List.of("launch", "--launch_info=" + INFO), words(helper.call()));
    }

    private static List<String> iterable(JsonNode object) {
        List<String> names = new ArrayList<>();
        object.fieldNames().forEachRemaining(names::add);
        return names;
    }

    private static List<String> words(RecordingHelper.Call call) {
        return call.argv().subList(1, call.argv().size());
    }

    private static String padded(int length) {
        char[] blanks = new char[length - "{\"a\":\"\"}".length()];
        Arrays.fill(blanks, 'x');
        return "{\"a\":\"" + new String(blanks) + "\"}";
    }

    private byte[] request(String... arguments) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(1);
        out.writeInt(0);
        out.writeInt(0);
        string(out, "/");
        strings(out, "docker");
        strings(out, arguments);
        strings(out, "JNVDOCKER_PRESTART=" + launcher.prestart());
        byte[] payload = bytes.toByteArray();
        return new Frames().frame('Q', payload).toBytes();
    }

    private static void strings(DataOutputStream out, String... texts) throws IOException {
        out.writeInt(texts.length);
        for (String text : texts) {
            string(out, text);
        }
    }

    private static void string(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
