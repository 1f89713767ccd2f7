package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A caller's environment is arbitrary: its streams, arguments, variables, and the file at the
 * socket's path.
 */
class HostileSurroundingsTest extends SanitizedClientTest {
    private static final Script EXIT_7 = Script.saying(new Frames().exit(7).toBytes());

    /** How a client ended, and what it said to the daemon. */
    private record Exchange(Command.Result result, String received) {}

    /** Runs a bash script whose $0 is the client. */
    private static Exchange exchange(Script script, String bash, Object... words) {
        Path socket = client.newSocket();
        Object[] all = new Object[words.length + 4];
        System.arraycopy(words, 0, all, 4, words.length);
        all[0] = "/bin/bash";
        all[1] = "-c";
        all[2] = bash;
        all[3] = SanitizedClient.program();
        try (HostileDaemon daemon = new HostileDaemon(socket, script)) {
            Command.Result result = client.command(socket, all).run();
            return new Exchange(result, new String(daemon.received(), StandardCharsets.ISO_8859_1));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-"})
    void closedStreamsAreNotTakenForOthers(String closed) {
        byte[] frames =
                new Frames()
                        .err("remark\n").call(0, "talking").call(1, "talking").stream("talking")
                                .more()
                                .enough()
                                .exit(7)
                                .toBytes();
        Exchange exchange = exchange(Script.saying(frames), "exec \"$0\" run image " + closed);
        assertEquals(7, exchange.result().exitCode(), exchange.result()::toString);
        assertEquals("", exchange.result().out(), "what is meant for stderr");
        String expected = closed.contains("2>") ? "" : "remark\nout\nerr\nerr\nerr\n";
        assertEquals(expected, exchange.result().err());
        assertTrue(exchange.received().endsWith(answer(4)), exchange.received());
        assertTrue(
                exchange.received().contains(answer(4, "out\n") + piece("out\n") + answer(4)),
                exchange.received());
    }

    @Test
    void withoutAnyStreamTheCodeIsAllThereIs() {
        Exchange exchange = exchange(EXIT_7, "exec \"$0\" run image <&- >&- 2>&-");
        assertEquals(7, exchange.result().exitCode());
        assertEquals("", exchange.result().out() + exchange.result().err());
        Script nonsense = Script.saying(new Frames().frame('?', new byte[0]).toBytes());
        assertEquals(
                REFUSED, exchange(nonsense, "exec \"$0\" run <&- >&- 2>&-").result().exitCode());
    }

    @Test
    void outputThatHasNoPlaceIsSaid() {
        Script script = Script.saying(new Frames().out("x").exit(7).toBytes());
        Exchange exchange = exchange(script, "exec \"$0\" gpu ls >&-");
        assertEquals(REFUSED, exchange.result().exitCode());
        assertEquals(
                "jnvdocker: cannot write to standard output: Bad file descriptor; check its"
                        + " destination\n",
                exchange.result().err());
    }

    @Test
    void programsInheritNothingOfOurs() {
        String docker = Project.fixture("bin/docker").toString();
        byte[] frames = new Frames().call(0, docker).exec(docker).toBytes();
        Exchange exchange =
                exchange(
                        Script.saying(frames),
                        "PATH=$PATH:/usr/bin:/bin exec \"$0\" run image < /dev/null");
        assertEquals(0, exchange.result().exitCode(), exchange.result()::toString);
        assertTrue(
                exchange.result().err().contains("descriptors= 0 1 2\n"),
                exchange.result()::toString);
        assertTrue(
                exchange.result().out().contains("descriptors= 0 1 2\n"),
                exchange.result()::toString);
    }

    /** The kernel allows 2 MiB of arguments in total. */
    @Test
    void commandLineMayBeHuge() {
        Object[] words = new Object[15];
        Arrays.fill(words, "x".repeat(120 * KIB));
        Exchange exchange = exchange(EXIT_7, "exec \"$0\" run \"$@\"", words);
        assertEquals(7, exchange.result().exitCode(), exchange.result()::err);
        assertHeardWhole(exchange);
        assertTrue(exchange.received().length() > 15 * 120 * KIB);
    }

    @Test
    void wordsMayBeMany() {
        Object[] words = new Object[100_000];
        Arrays.fill(words, "");
        Exchange exchange = exchange(EXIT_7, "exec \"$0\" run \"$@\"", words);
        assertEquals(7, exchange.result().exitCode(), exchange.result()::err);
        assertHeardWhole(exchange);
    }

    @Test
    void variablesMayBeHuge() {
        String value = "x".repeat(120 * KIB);
        Path socket = client.newSocket();
        Command command = client.command(socket, SanitizedClient.program(), "run", "image");
        for (int i = 0; i < 10; i++) {
            command.with("NV_" + i, value).with("OTHER_" + i, i < 4 ? value : "");
        }
        try (HostileDaemon daemon = new HostileDaemon(socket, EXIT_7)) {
            assertEquals(7, command.run().exitCode());
            String received = new String(daemon.received(), StandardCharsets.ISO_8859_1);
            assertTrue(received.contains("NV_9=" + value));
            assertFalse(received.contains("OTHER_"));
        }
    }

    @Test
    void variablesThatWeReadMayBeHuge() {
        String huge = "y".repeat(120 * KIB);
        for (String variable : new String[] {"HOME", "DOCKER_CONFIG", "PATH", "NV_DOCKER"}) {
            Path socket = client.newSocket();
            try (HostileDaemon _ = new HostileDaemon(socket, EXIT_7)) {
                Command.Result result =
                        client.command(socket, SanitizedClient.program(), "run")
                                .with(variable, huge)
                                .run();
                boolean findsDocker = !variable.equals("PATH") && !variable.equals("NV_DOCKER");
                assertEquals(findsDocker ? 7 : REFUSED, result.exitCode(), variable);
            }
        }
    }

    @Test
    void bytesThatAreNoTextAreHeardAsTheyAre() {
        Exchange exchange =
                exchange(
                        EXIT_7,
                        "NV_X=$'\\xfe=\\n' exec \"$0\" run $'\\xff\\xfe' $'\\xc3(' $'a\\nb' ''");
        assertEquals(7, exchange.result().exitCode(), exchange.result()::toString);
        assertTrue(
                exchange.received()
                        .contains("\0\0\0\2\u00ff\u00fe\0\0\0\2\u00c3(\0\0\0\3a\nb\0\0\0\0"));
        assertTrue(exchange.received().contains("NV_X=\u00fe=\n"));
    }

    @Test
    void programsOwnNameMayBeEmpty() {
        assertEquals(7, exchange(EXIT_7, "exec -a '' \"$0\" run image").result().exitCode());
    }

    @Test
    void directoryMayBeGone() {
        Path gone = client.directory().resolve("gone");
        String bash = "/bin/mkdir " + gone + "; cd " + gone + "; /bin/rmdir " + gone;
        assertEquals(7, exchange(EXIT_7, bash + "; exec \"$0\" run image").result().exitCode());
    }

    @Test
    void whatIsNoSocketIsSaidToBeNone() throws IOException {
        Path directory = client.directory();
        Path file = Files.writeString(directory.resolve("file"), "precious");
        Path link =
                Files.createSymbolicLink(directory.resolve("link"), directory.resolve("nowhere"));
        Path loop = Files.createSymbolicLink(directory.resolve("loop"), directory.resolve("loop"));
        Path empty = Files.createDirectory(directory.resolve("directory"));
        for (Path path :
                new Path[] {
                    file,
                    link,
                    loop,
                    empty,
                    file.resolve("below"),
                    Path.of("relative"),
                    Path.of("/x".repeat(60)),
                    directory.resolve("x".repeat(300))
                }) {
            Command.Result result =
                    client.command(path, SanitizedClient.program(), "run", "--gpus=1", "image")
                            .run();
            assertEquals(REFUSED, result.exitCode(), path + "\n" + result);
            assertTrue(result.err().startsWith("jnvdocker: "), path + "\n" + result);
        }
        assertEquals("precious", Files.readString(file));
        assertFalse(Files.exists(directory.resolve("nowhere")));
    }

    private static void assertHeardWhole(Exchange exchange) {
        ByteBuffer head =
                ByteBuffer.wrap(
                        exchange.received().substring(1, 5).getBytes(StandardCharsets.ISO_8859_1));
        assertEquals(exchange.received().length(), head.getInt() + 5);
    }

    /**
     * The client's answer to a call of a program that ended with this exit code and printed this.
     */
    private static String answer(int exitCode, String... printed) {
        String payload = "\0\0\0" + (char) exitCode + String.join("", printed);
        return "R\0\0\0" + (char) payload.length() + payload;
    }

    private static String piece(String data) {
        return "D\0\0\0" + (char) data.length() + data;
    }
}
