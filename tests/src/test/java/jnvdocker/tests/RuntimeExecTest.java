package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RecordingHelper;
import jnvdocker.tests.world.RuntimeProgram;
import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Commands in containers, and the end of containers, under sanitizers: the daemon is notified of
 * those that it has marked, and no failure of the daemon stops them.
 */
class RuntimeExecTest {
    private static final String ID = "c1";
    private static final String NEW = "{\"env\":[\"LD_LIBRARY_PATH=/usr/local/nvidia/lib64\"]}";
    private static final Script EDIT = Script.saying(new Frames().out(NEW).exit(0).toBytes());

    private final Path directory = Directories.make("oci");
    private final Path process = directory.resolve("runc-process1");
    private RecordingHelper real;
    private RuntimeProgram runtime;
    private String old;

    @BeforeEach
    void install() throws IOException {
        Path bin = Files.createDirectory(directory.resolve("bin"));
        real = new RecordingHelper(bin, "runc");
        runtime =
                new RuntimeProgram(
                        directory, SanitizedClient.runtimeProgram(), bin.resolve("runc"));
        old = Files.readString(Project.fixture("oci/docker-28.5.2/exec-process-file.json"));
        Files.writeString(process, old);
        Files.createFile(runtime.markers().resolve(ID));
    }

    @AfterEach
    void removeAll() {
        Directories.remove(directory);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--root R --log L --log-format json exec --process F --detach --pid-file p c1",
                "exec -d --process=F c1",
                "exec -p F c1",
                "exec -pF c1",
                "exec -tty -process F -- c1",
                "exec -e A=b --cwd / --user 0 --cap C --preserve-fds 1 --process F c1",
            })
    void commandInAMarkedContainerIsEdited(String line) throws IOException {
        try (HostileDaemon daemon = new HostileDaemon(runtime.socket(), EDIT)) {
            assertPassedOn(line);
            assertArrayEquals(
                    RuntimeProgram.request("runtime", "exec", ID, process.toString(), old),
                    daemon.received());
        }
        assertEquals(NEW, Files.readString(process));
        assertNothingLeft();
    }

    /** A daemon is present, and would edit the command. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "exec --process F c2",
                "exec --process F ../markers/c1",
                "exec --process F .",
                "exec --process F",
                "exec --process",
                "exec c1 sh",
                "exec c1 sh --process F",
                "exec c2 --process F c1",
                "exec --unknown value --process F c1",
                "state --process F c1",
            })
    void otherCommandsSendNoRequest(String line) throws IOException {
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), EDIT)) {
            assertPassedOn(line);
        }
        assertEquals(old, Files.readString(process));
    }

    static Stream<byte[]> badAnswers() {
        return Stream.concat(
                RuntimeCreateTest.badAnswers().map(Map.Entry::getKey),
                Stream.of(
                        new Frames().exit(0).toBytes(),
                        new Frames().err("a remark\n").refuse("no").toBytes(),
                        new Frames().err("a remark\n").waits().toBytes()));
    }

    @ParameterizedTest
    @MethodSource("badAnswers")
    void badAnswersChangeNothing(byte[] answer) throws IOException {
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), Script.saying(answer))) {
            assertPassedOn("exec --process F c1");
        }
        assertEquals(old, Files.readString(process));
        assertNothingLeft();
    }

    @Test
    void nobodyIsWaitedFor() throws IOException {
        Instant began = Instant.now();
        assertPassedOn("exec --process F c1");
        assertTrue(Duration.between(began, Instant.now()).toMillis() < 10_000, "without a daemon");
        Script silent =
                client -> {
                    Thread.sleep(60_000);
                    return new byte[0];
                };
        began = Instant.now();
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), silent)) {
            assertPassedOn("exec --process F c1");
        }
        long millis = Duration.between(began, Instant.now()).toMillis();
        assertTrue(millis >= 1000 && millis < 20_000, "milliseconds: " + millis);
        assertEquals(old, Files.readString(process));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rm F",
                "mv F other; ln -s other F",
                "rm F; mkfifo F",
                "rm F; mkdir F",
                "truncate -s 4194305 F",
                "printf '\\0' > F",
                "mkdir -p F.jnvdocker/full",
            })
    void fileInAnyStateIsTheRealRuntimesMatter(String state) throws IOException {
        Command.of("sh", "-c", state.replace("F", process.toString())).in(directory).run().ok();
        try (HostileDaemon _ = new HostileDaemon(runtime.socket(), EDIT)) {
            assertPassedOn("exec --process F c1");
        }
        Path other = directory.resolve("other");
        assertEquals(old, Files.exists(other) ? Files.readString(other) : old);
    }

    // ---- delete ----

    /** Each call sends its container's id, and its own pid, to the daemon's socket. */
    @Test
    void endOfAMarkedContainerWakesTheDaemon() throws Exception {
        String server =
                "use Socket; socket(my $s, PF_UNIX, SOCK_DGRAM, 0); bind($s,"
                        + " pack_sockaddr_un($ARGV[0])) or die; $| = 1; print \"ready\\n\"; while"
                        + " (defined recv($s, my $id, 999, 0)) { print \"$id\\n\" }";
        Process listener = Command.of("perl", "-e", server, runtime.wake()).start();
        try {
            assertEquals("ready", listener.inputReader().readLine());
            Files.createFile(runtime.markers().resolve("c3"));
            assertPassedOn("delete c2");
            assertPassedOn("--root R delete --force c1");
            assertPassedOn("delete");
            assertPassedOn("delete .");
            assertPassedOn("delete c3 -f");
            for (String container : List.of("c1", "c3")) {
                String sent = listener.inputReader().readLine();
                assertTrue(sent.matches(container + " [0-9]+"), sent);
            }
        } finally {
            listener.destroy();
        }
    }

    /**
     * The socket of a stopped process takes a limited number of datagrams; the rest are dropped.
     */
    @Test
    void endOfAContainerWaitsForNobody() throws Exception {
        assertPassedOn("delete c1");
        Files.writeString(runtime.wake(), "no socket");
        assertPassedOn("delete c1");
        Files.delete(runtime.wake());
        String server =
                "use Socket; socket(my $s, PF_UNIX, SOCK_DGRAM, 0); bind($s,"
                    + " pack_sockaddr_un($ARGV[0])) or die; $| = 1; print \"ready\\n\"; sleep 60";
        Process deaf = Command.of("perl", "-e", server, runtime.wake()).start();
        try {
            assertEquals("ready", deaf.inputReader().readLine());
            int room =
                    Integer.parseInt(
                            Files.readString(Path.of("/proc/sys/net/unix/max_dgram_qlen")).strip());
            for (int i = 0; i < Math.min(room, 40) + 2; i++) {
                assertPassedOn("delete c1");
            }
        } finally {
            deaf.destroy();
        }
    }

    // ---- ----

    private void assertPassedOn(String line) {
        List<String> argv = new ArrayList<>(List.of("runc"));
        argv.addAll(List.of(line.split(" ")));
        argv.replaceAll(word -> word.replace("F", process.toString()));
        Command.Result result = runtime.command(argv, directory, Map.of()).run();
        assertEquals(RecordingHelper.EXIT_CODE, result.exitCode(), result::toString);
        assertEquals("", result.out() + result.err());
        RecordingHelper.Call call = real.call();
        assertEquals(argv, call.argv());
        assertEquals(List.of(0, 1, 2), List.copyOf(call.descriptors().keySet()));
    }

    private void assertNothingLeft() {
        assertTrue(Files.notExists(directory.resolve("runc-process1.jnvdocker")));
    }
}
