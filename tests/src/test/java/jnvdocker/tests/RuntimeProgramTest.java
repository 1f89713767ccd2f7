package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RecordingHelper;
import jnvdocker.tests.world.RuntimeCall;
import jnvdocker.tests.world.RuntimeProgram;
import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;

/**
 * The program that an engine runs in place of its runtime, under sanitizers: every call reaches the
 * real runtime unchanged, and the daemon is queried only about containers that may have GPUs.
 */
@Attack(
        by = "an engine",
        what = "restores a container from a checkpoint",
        result = "leased like a new one")
class RuntimeProgramTest {
    private static final Script UNCHANGED = Script.saying(new Frames().exit(0).toBytes());
    private static final String RULES = "fixtures/device-rules";
    private static final String WORDS = "fixtures/gpu-words";
    private static final String ORDINARY = "docker-28.5.2/userns-host-pid-host";

    private final Path directory = Directories.make("oci");
    private RecordingHelper real;
    private RuntimeProgram runtime;

    static List<String> scenarios() throws IOException {
        return RuntimeCall.scenarios();
    }

    @BeforeEach
    void install() throws IOException {
        Path bin = Files.createDirectory(directory.resolve("bin"));
        real = new RecordingHelper(bin, "runc");
        runtime =
                new RuntimeProgram(
                        directory, SanitizedClient.runtimeProgram(), bin.resolve("runc"));
    }

    @AfterEach
    void removeAll() {
        Directories.remove(directory);
    }

    // ---- recorded calls of engines ----

    /**
     * No daemon runs for calls that do not concern GPUs, which would be delayed by seconds if they
     * queried.
     */
    @ParameterizedTest
    @MethodSource("scenarios")
    void everyRecordedCallArrivesAsItWasMade(String scenario) throws IOException {
        for (RuntimeCall call : RuntimeCall.of(scenario, directory)) {
            call.prepare(directory);
            if (call.isCreate() && !scenario.endsWith("/userns-host-pid-host")) {
                try (HostileDaemon daemon = new HostileDaemon(runtime.socket(), UNCHANGED)) {
                    assertArrives(call);
                    assertArrayEquals(request(call), daemon.received());
                }
                Files.delete(runtime.socket());
            } else {
                assertArrives(call);
            }
        }
    }

    private void assertArrives(RuntimeCall call) {
        assertPassedOn(runtime.command(call).run());
        RecordingHelper.Call seen = real.call();
        assertEquals(call.argv(), seen.argv());
        assertEquals(call.cwd().toString(), seen.cwd());
        List<String> environment = new ArrayList<>(List.of(RuntimeProgram.SANITIZER));
        call.environment().forEach((name, value) -> environment.add(name + "=" + value));
        assertEquals(environment, seen.environment());
        assertEquals(List.of(0, 1, 2), List.copyOf(seen.descriptors().keySet()));
    }

    private static byte[] request(RuntimeCall call) {
        return RuntimeProgram.request(
                "runtime",
                "create",
                call.id(),
                call.bundle().toString(),
                call.option("--pid-file"),
                call.option("--root"),
                call.texts().get("config.json"),
                docker(call, "config.v2.json"),
                docker(call, "hostconfig.json"));
    }

    /** The recording of one scenario lacks them. */
    private static String docker(RuntimeCall call, String name) {
        boolean ofDocker =
                call.texts().get("config.json").contains("/containers/" + call.id() + "/hosts\"");
        return call.texts().getOrDefault(name, ofDocker ? "{}" : "");
    }

    // ---- calls that query the daemon ----

    @ParameterizedTest
    @ValueSource(
            strings = {
                "config.json|{\"env\":[\"NVIDIA_VISIBLE_DEVICES=0\"]}",
                "config.json|{\"path\":\"/dev/nvidia0\"}",
                "config.json|{\"path\":\"/dev/odd\",\"major\":195}",
                "config.json|{\"major\" :\n\t195 }",
                "config.json|{\"path\":\"/dev/odd\",\"major\":226,\"minor\":977}",
                "config.json|{\"allow\":true,\"major\":226}",
                "config.json|{\"allow\" : true}",
                "config.json|\"allow\":true",
                "config.v2.json|{\"MountPoints\":{\"/x\":{\"Name\":\"jnvdocker_claim_1\"}}}",
                "config.v2.json|{\"Runtime\":\"nvidia\"}",
                "hostconfig.json|{\"DeviceRequests\":[{\"Capabilities\":[[\"gpu\"]]}]}",
                "hostconfig.json|{\"Runtime\":\"nvidia\",\"Devices\":[\"/dev/nvidia0\"]}",
                "hostconfig.json|{\"Runtime\":\"x\",\"A\":\"nvidia\"}",
                "hostconfig.json|{\"CpusetRuntime\":\"nvidia\"}",
                "hostconfig.json|{\"a\":[\"Runtime\",\"nvidia\"]}",
            })
    void whateverMayBeAboutGpusConcernsTheDaemon(String textOfFile) throws IOException {
        String[] parts = textOfFile.split("\\|", 2);
        assertEquals(1, requested(ordinary(parts[0], parts[1])), textOfFile);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "config.json|{\"major\":1950,\"minor\":195,\"x\":{\"major\":19}}",
                "config.json|{\"args\":[\"gpu\",\"\\\"allow\\\":true\",\"\\\"major\\\":195\"]}",
                "config.v2.json|{\"Image\":\"gpu\"}",
                "hostconfig.json|{\"Runtime\":\"nvidia\"}",
                "hostconfig.json|{\"Runtime\" :\n \"com.nvidia.v1\",\"x\":1}",
            })
    void ordinaryContainerStartsWithoutADaemon(String textOfFile) throws IOException {
        String[] parts = textOfFile.split("\\|", 2);
        RuntimeCall call = ordinary(parts[0], parts[1]);
        assertEquals(0, requested(call), textOfFile);
        assertPassedOn(runtime.command(call).run());
    }

    /** In a mount namespace in which the kernel shows one card. */
    @ParameterizedTest
    @CsvSource({"0x10de, 1", "0x8086, 0", "0x1002, 0"})
    @Tag("root")
    void graphicsNodeConcernsTheDaemonIfItsCardIsNvidias(String vendor, int requests)
            throws IOException {
        RuntimeCall call =
                ordinary("config.json", "{\"path\":\"/dev/odd\",\"major\":226,\"minor\":128}");
        String show =
                "mount -t tmpfs none /sys/dev/char; mkdir -p /sys/dev/char/226:128/device;"
                        + " echo $1 > /sys/dev/char/226:128/device/vendor; shift; exec \"$@\"";
        Command command =
                runtime.command(call).after("unshare", "-m", "sh", "-ec", show, "sh", vendor);
        assertEquals(requests, requested(call, command));
    }

    /** The owner that our proxy writes on every container is among the words that request none. */
    @ParameterizedTest
    @CsvFileSource(files = WORDS, delimiter = '|', quoteCharacter = '~')
    void wordsThatRequestNothingStartWithoutADaemon(
            String labels, String variables, String annotations, String starts) throws IOException {
        String environment = "\"env\":[" + Objects.toString(variables, "") + "]";
        RuntimeCall call =
                ordinary(
                        "config.json",
                        "{%s,\"annotations\":{%s}}"
                                .formatted(environment, Objects.toString(annotations, "")));
        call.with(
                        "config.v2.json",
                        "{\"Config\":{%s,\"Labels\":{%s}}}"
                                .formatted(environment, Objects.toString(labels, "")))
                .with("hostconfig.json", "{\"Runtime\":\"nvidia\"}")
                .prepare(directory);
        assertEquals(starts.equals("alone") ? 0 : 1, requested(call), labels + variables);
    }

    /** A rule with NVIDIA's major number concerns the daemon, whatever else is in it. */
    @ParameterizedTest
    @CsvFileSource(files = RULES, delimiter = '|', quoteCharacter = '~')
    void rulesThatMayOpenGpusConcernTheDaemon(String typed, String json, String devices)
            throws IOException {
        boolean concerns =
                devices.matches("all|refused|\\*:.*") || json.matches(".*\"major\":195\\b.*");
        assertEquals(concerns ? 1 : 0, requested(ordinary("config.json", json)), typed + json);
    }

    /** Nodes have numbers, too, and no engine gives those. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"type\":\"c\",\"major\":4294967491,\"minor\":0}",
                "{\"type\":\"c\",\"major\":10,\"minor\":4294967296}",
            })
    void nodesWithNumbersOfNoDeviceConcernTheDaemon(String node) throws IOException {
        assertEquals(1, requested(ordinary("config.json", node)));
    }

    /** Keeps the ordinary container's own mounts, which show where docker's directory is. */
    private RuntimeCall ordinary(String name, String text) throws IOException {
        RuntimeCall call = RuntimeCall.of(ORDINARY, directory).getFirst();
        String kept = call.texts().get(name);
        return call.with(name, name.equals("config.json") ? "[" + text + "," + kept + "]" : text)
                .prepare(directory);
    }

    private int requested(RuntimeCall call) {
        return requested(call, runtime.command(call));
    }

    private int requested(RuntimeCall call, Command command) {
        AtomicInteger requested = new AtomicInteger();
        Script counting =
                client -> {
                    requested.incrementAndGet();
                    return UNCHANGED.play(client);
                };
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), counting)) {
            assertPassedOn(command.run());
        } finally {
            runtime.socket().toFile().delete();
        }
        assertEquals(call.argv(), real.call().argv());
        return requested.get();
    }

    // ---- docker's files ----

    /** With --network container:OTHER, the other container's files are mounted. */
    @Test
    void filesOfAContainerInAnothersNetworkAreFound() throws IOException {
        RuntimeCall call = RuntimeCall.of("docker-28.5.2/label-only", directory).getFirst();
        call.prepare(directory);
        String other = "0".repeat(63) + "1";
        String config = call.texts().get("config.json");
        Files.writeString(
                call.bundle().resolve("config.json"),
                config.replace("/containers/" + call.id(), "/containers/" + other));
        assertEquals(1, requested(call));
        Files.writeString(
                call.bundle().resolve("config.json"),
                config.replace("/containers/" + call.id(), "/nowhere/" + other)
                        .replace("/var/lib/docker/overlay2/", "/nowhere/"));
        assertEquals(0, requested(call));
    }

    /** Its user has mounted files in place of all of docker's. */
    @Test
    void filesOfAContainerWithoutDockersMountsAreFoundBesideItsRoot() throws IOException {
        RuntimeCall call = RuntimeCall.of("docker-28.5.2/label-only", directory).getFirst();
        call.prepare(directory);
        Path config = call.bundle().resolve("config.json");
        String text =
                Files.readString(config).replace("/containers/" + call.id(), "/users/directory");
        Files.writeString(config, text);
        assertEquals(1, requested(call));
        Files.writeString(config, text.replaceFirst("\"root\":", "\"rooted\":"));
        assertEquals(0, requested(call));
        String forged = "\"annotations\":{\"root\":\"{\\\"path\\\":\\\"/x/y\\\"}\"},\"root\":";
        Files.writeString(config, text.replaceFirst("\"root\":", Matcher.quoteReplacement(forged)));
        assertEquals(1, requested(call));
        Directories.remove(directory.resolve("var/lib/docker/containers").resolve(call.id()));
        assertEquals(0, requested(call));
    }

    @Test
    void filesThatNobodyMadeForDockerAreNotRead() throws IOException {
        RuntimeCall call = ordinary("config.json", "{}");
        Path docker = directory.resolve("var/lib/docker/containers").resolve(call.id());
        Path file = docker.resolve("hostconfig.json");
        Files.delete(file);
        assertRefused(runtime.command(call).run(), "cannot read " + file + ": ");
        Files.createSymbolicLink(file, docker.resolve("config.v2.json"));
        assertRefused(runtime.command(call).run(), "it is a link");
        Files.delete(file);
        Command.of("mkfifo", file).run().ok();
        assertRefused(runtime.command(call).run(), "it is no regular file");
        Directories.remove(docker);
        assertRefused(runtime.command(call).run(), "cannot open " + docker);
    }

    @Test
    @Tag("root")
    void filesOfAnotherUserAreNotDockers() throws IOException {
        RuntimeCall call = ordinary("config.json", "{}");
        Path docker = directory.resolve("var/lib/docker/containers").resolve(call.id());
        Command.of("chown", "1234", docker.resolve("config.v2.json")).run().ok();
        assertRefused(runtime.command(call).run(), "belongs to uid 1234");
    }

    @Test
    void directoryThatCannotBeReadOutOfTheTextIsRefused() throws IOException {
        RuntimeCall call = ordinary("config.json", "{}");
        Path config = call.bundle().resolve("config.json");
        Files.writeString(
                config,
                Files.readString(config).replace("/var/lib/docker", "/var/lib/doc\\u003cker"));
        assertRefused(runtime.command(call).run(), "(data-root)");
    }

    // ---- the command line ----

    /** Each line creates a container with GPUs, while no daemon is up at first. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "create --bundle B c1",
                "create -b B c1",
                "create --bundle=B c1",
                "create -bundle=B c1",
                "create -bundle B c1",
                "create -b=B c1",
                "create -bB c1",
                "create c1 --bundle B",
                "create --bundle nowhere --bundle B --no-pivot --unknown -x c1",
                "create --pid-file p --console-socket s --preserve-fds 3 -b B -- c1",
                "run -d --bundle B c1",
                "--debug create -b B c1",
                "--root R --log-format text --criu C --rootless auto --systemd-cgroup create -b B"
                        + " c1",
                "-root R -log-format=text run -b B c1",
                "--cgroup-manager=cgroupfs --root=R create -b B c1",
                "--cgroup-manager cgroupfs create -b B c1",
                "--unknown value create -b B c1",
                "--unknown create -b B c1",
                "--unknown=value -x create -b B c1",
                "-- create -b B c1",
                "create --config B/config.json -b . c1",
                "create -f B/config.json c1",
                "restore --bundle B c1",
                "restore --image-path I --work-path=W -d -b B c1",
                "restore c1 -b B --image-path I --manage-cgroups-mode soft --lsm-profile a:b"
                        + " --lsm-mount-context c --empty-ns network",
            })
    void createIsFoundBehindAllOptions(String line) throws IOException {
        Path bundle = Files.createDirectory(directory.resolve("B"));
        Files.writeString(bundle.resolve("config.json"), "{\"x\":\"NVIDIA_\"}");
        assertEquals(1, requested(call(line)));
        List<String> all = new ArrayList<>(List.of(line.split(" ")));
        all.replaceAll(word -> word.replace("B", bundle.toString()));
        assertEquals(1, requested(call(String.join(" ", all))));
        Files.writeString(bundle.resolve("config.json"), "{}");
        assertEquals(0, requested(call(line)));
    }

    @Test
    void bundleIsTheDirectoryUnlessItIsNamed() throws IOException {
        Files.writeString(directory.resolve("config.json"), "{\"x\":\"NVIDIA_\"}");
        try (HostileDaemon daemon = new HostileDaemon(runtime.socket(), UNCHANGED)) {
            assertPassedOn(run("--root R create --pid-file p c1"));
            assertArrayEquals(
                    RuntimeProgram.request(
                            "runtime",
                            "create",
                            "c1",
                            directory + "/.",
                            directory + "/p",
                            directory + "/R",
                            "{\"x\":\"NVIDIA_\"}",
                            "",
                            ""),
                    daemon.received());
        }
    }

    /** There is neither a daemon nor a bundle: a call that needed one would be refused. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "--version",
                "-v",
                "--help",
                "features",
                "--root R state c1",
                "--root create",
                "--root R start create",
                "--log create --root run list",
                "start create",
                "kill c1 15",
                "ps --format json create",
                "unheard-of create c1",
                "--unknown state c1",
                "create",
                "create --help",
                "run --bundle nowhere",
                "delete --force c1",
                "exec c1 create --bundle nowhere --process p",
                "update --resources - c1",
                "- create c1",
                "--",
            })
    void otherWordsGoStraightToTheRuntime(String line) {
        assertPassedOn(run(line));
        assertEquals(("runc " + line).strip(), String.join(" ", real.call().argv()));
    }

    @Test
    void everythingIsPassedOnByteForByte() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "unread");
        String script =
                "exec 0</dev/null 4<\"$1\" 9<\"$1\" 21>&1; trap '' PIPE CHLD USR1; exec env -i "
                        + RuntimeProgram.SANITIZER
                        + " A= $'B=\\xff\\n\\x01' =x \"$0\" $'\\xfe' '' start ' '";
        Command.Result result = Command.of("bash", "-c", script, runtime.path(), file).run();
        assertPassedOn(result);
        RecordingHelper.Call call = real.call();
        assertEquals(List.of(runtime.path().toString(), "\u00fe", "", "start", " "), call.argv());
        assertEquals(
                List.of(RuntimeProgram.SANITIZER, "A=", "B=\u00ff\n\u0001", "=x"),
                call.environment());
        assertEquals(List.of(0, 1, 2, 4, 9, 21), List.copyOf(call.descriptors().keySet()));
        assertEquals(file.toString(), call.descriptors().get(9));
        long signals = 1L << (13 - 1) | 1L << (17 - 1) | 1L << (10 - 1);
        assertEquals(signals, call.ignored() & signals);
    }

    @Test
    void closedStandardDescriptorsStayClosed() throws IOException {
        RuntimeCall call = ordinary("config.json", "\"NVIDIA_\"");
        byte[] answer = new Frames().err("unheard\n").out("{\"a\":2}").exit(0).toBytes();
        String script = "exec 0<&- 1>&- 2>&-; exec \"$0\" create -b \"$1\" c1";
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), Script.saying(answer))) {
            Command.of("bash", "-c", script, runtime.path(), call.bundle())
                    .after("env", "-i", RuntimeProgram.SANITIZER)
                    .run();
        }
        assertEquals("{\"a\":2}", Files.readString(call.bundle().resolve("config.json")));
        assertEquals(Map.of(), real.call().descriptors());
    }

    // ---- the real runtime ----

    @Test
    void itselfIsNoRuntime() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("link"), runtime.path());
        runtime.settle(SanitizedClient.runtimeProgram(), link.toString());
        assertRefused(run("start c1"), "is this nvidia-container-runtime itself");
    }

    @Test
    void missingRuntimeIsNamed() throws IOException {
        Files.delete(directory.resolve("bin/runc"));
        assertRefused(
                run("start c1"), "cannot run '" + directory + "/bin/runc': No such file or f");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "runc"})
    void copyThatIsNotInstalledSaysSo(String path) throws IOException {
        runtime.settle(SanitizedClient.runtimeProgram(), path);
        assertRefused(run("--version"), "run 'jnvdocker runtime install'\n");
    }

    @Test
    @Tag("tree")
    void whatIsBuiltNeedsNoLibrary() throws IOException {
        Path file = Project.tree().resolve("lib/oci/nvidia-container-runtime");
        String segments = Command.of("readelf", "-lW", file).run().ok().out();
        assertFalse(segments.contains("INTERP"), segments);
        assertTrue(Files.isExecutable(file));
        assertRefused(Command.of(file).run(), "run 'jnvdocker runtime install'\n");
    }

    // ---- ----

    private RuntimeCall call(String line) {
        List<String> argv = new ArrayList<>(List.of("runc"));
        if (!line.isEmpty()) {
            argv.addAll(List.of(line.split(" ")));
        }
        return new RuntimeCall(argv, directory, Map.of(), Map.of());
    }

    private Command.Result run(String line) {
        return runtime.command(call(line)).run();
    }

    private static void assertPassedOn(Command.Result result) {
        assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
        assertEquals("", result.out() + result.err());
    }

    private void assertRefused(Command.Result result, String reason) {
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals("", result.out());
        assertTrue(result.err().startsWith("jnvdocker: "), result::toString);
        assertTrue(result.err().contains(reason), result::toString);
        assertFalse(real.wasCalled());
    }
}
