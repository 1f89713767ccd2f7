package jnvdocker.protocol;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.posix.Peer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The other end is written out byte by byte, as the C client sends it. */
@Attack(
        by = "a member",
        what = "passes a pipe that never ends to `gpu needs`",
        result = "given up after 30 s")
class ClientConnectionTest {
    @TempDir Path directory;
    private SocketChannel client;
    private SocketChannel daemon;
    private DataOutputStream out;
    private DataInputStream in;
    private ClientConnection connection;
    private final FrameMemory memory =
            new FrameMemory(FrameMemory.Limits.STANDARD, Duration.ofSeconds(10));
    private final Deadlines deadlines = new Deadlines();

    @BeforeEach
    void connect() throws IOException {
        var address = UnixDomainSocketAddress.of(directory.resolve("socket"));
        try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(address);
            client = SocketChannel.open(address);
            daemon = server.accept();
        }
        out = new DataOutputStream(Channels.newOutputStream(client));
        in = new DataInputStream(Channels.newInputStream(client));
        connection =
                new ClientConnection(
                        daemon, memory.open(new Peer(1, 1000)), deadlines, Optional.empty());
    }

    @AfterEach
    void disconnect() throws IOException {
        client.close();
        connection.close();
        deadlines.close();
        assertEquals(0, memory.taken());
    }

    private ClientRequest question() throws IOException {
        return switch (connection.opening()) {
            case Opening.Question(ClientRequest request) -> request;
            case Opening.Http _ -> throw new AssertionError("HTTP");
        };
    }

    @Test
    void requestIsReadWithItsPeer() throws IOException {
        sendRequest("run", "cuda");
        ClientRequest request = question();
        assertEquals(List.of("run", "cuda"), request.arguments());
        assertEquals(List.of("/usr/bin/docker"), request.docker());
        assertEquals(ProcessHandle.current().pid(), request.peer().pid());
    }

    @Test
    void requestMayBeLong() throws Exception {
        String[] arguments = new String[3000];
        Arrays.fill(arguments, "--env=X=" + "x".repeat(1000));
        Thread sender = inBackground(() -> sendRequest(arguments));
        assertEquals(List.of(arguments), question().arguments());
        sender.join();
    }

    @Test
    void requestMayComeInPieces() throws Exception {
        byte[] frame = frame('Q', request("version"));
        Thread sender =
                inBackground(() -> {
                    for (byte piece : frame) {
                        out.write(piece);
                    }
                });
        assertEquals(List.of("version"), question().arguments());
        sender.join();
    }

    /** QUERY begins with the type of a frame. */
    @ParameterizedTest
    @ValueSource(strings = {"GET / HTTP/1.1", "HEAD /", "QUERY /", "PUT http://localhost/"})
    void httpIsDistinguishedFromFramesAndHandedOver(String request) throws IOException {
        out.write(request.getBytes(StandardCharsets.US_ASCII));
        ByteBuffer begun = assertInstanceOf(Opening.Http.class, connection.opening()).begun();
        assertEquals(request.substring(0, 5), StandardCharsets.US_ASCII.decode(begun).toString());
        connection.handOver((channel, account) -> {
            assertTrue(channel.isOpen());
            account.close();
            channel.close();
        });
    }

    @Test
    void frameThatIsTooLongIsNoHttp() throws IOException {
        out.write(new byte[] {'Q', 0x7f, 'E', 'T', ' '});
        var refused = assertThrows(IOException.class, () -> connection.opening());
        assertTrue(refused.getMessage().startsWith("a frame is longer than"));
    }

    /**
     * Short requests count, too: with their length, and with more than that if they have many
     * words.
     */
    @Test
    void requestCountsAsLongAsItsConnection() throws Exception {
        String[] words = new String[200];
        Arrays.fill(words, "x".repeat(300));
        long before = memory.taken();
        sendRequest(words);
        question();
        long taken = memory.taken() - before;
        assertTrue(taken > 2 * 60_000 && taken < 3 * 60_000, () -> "taken: " + taken);
        String[] empty = new String[100_000];
        Arrays.fill(empty, "");
        byte[] payload = request(empty);
        Payload.Reader reader = new Payload.Reader(payload, connection::take);
        ClientRequest.parse(reader, new Peer(1, 1000), Optional.empty());
        assertTrue(memory.taken() - before - taken > 6_000_000);
    }

    @Test
    void streamThatStallsIsGivenUpAndTheClientIsNotified() throws IOException {
        connection.stream(List.of("cat"));
        CallStream stream = new CallStream(connection, Duration.ofMillis(50));
        assertThrows(IOException.class, stream::read);
        assertTrue(stream.isStalled());
        stream.close();
        connection.exit(ExitCode.REFUSED);
        assertFrame('S', new Payload.Writer().number(1).strings(List.of("cat")).toBytes());
        assertFrame('M', new byte[0]);
        assertFrame('N', new byte[0]);
        assertFrame('T', new byte[] {0, 0, 0, 125});
    }

    /** An occasional piece is not enough. */
    @Test
    void streamThatTricklesIsGivenUp() throws IOException {
        CallStream stream = new CallStream(connection, Duration.ofMillis(300));
        Thread trickle =
                inBackground(() -> {
                    for (int i = 0; i < 100; i++) {
                        send('D', new byte[CallStream.PIECE]);
                        try {
                            Thread.sleep(100);
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                });
        assertThrows(IOException.class, stream::readAllBytes);
        assertTrue(stream.isStalled());
        trickle.interrupt();
    }

    /** The output may be for a program, and stays unchanged. */
    @Test
    void clientThatReadsAsciiAloneGetsAscii() throws IOException {
        send('Q', request(List.of("LC_CTYPE=C"), "gpu", "why"));
        question();
        connection.message("invalid device: Gerät");
        connection.out("Größe");
        assertFrame(
                'E', "jnvdocker: invalid device: Ger\\u{e4}t\n".getBytes(StandardCharsets.UTF_8));
        assertFrame('O', "Größe\n".getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void textIsWrittenInLines() throws IOException {
        connection.out("NAME   Größe");
        connection.print("as it is");
        connection.err("Unable to find image");
        connection.message("no GPU is free");
        assertFrame('O', "NAME   Größe\n".getBytes(StandardCharsets.UTF_8));
        assertFrame('O', "as it is".getBytes(StandardCharsets.UTF_8));
        assertFrame('E', "Unable to find image\n".getBytes(StandardCharsets.UTF_8));
        assertFrame('E', "jnvdocker: no GPU is free\n".getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void execExitAndAgainAreTheLastWords() throws IOException {
        connection.exec(List.of("docker", "run"));
        connection.exit(ExitCode.REFUSED);
        connection.exit(3);
        connection.again(Duration.ofSeconds(2));
        assertFrame('X', new Payload.Writer().strings(List.of("docker", "run")).toBytes());
        assertFrame('T', new byte[] {0, 0, 0, 125});
        assertFrame('T', new byte[] {0, 0, 0, 3});
        assertFrame('A', new byte[] {0, 0, 7, (byte) 0xd0});
    }

    @Test
    void refusalOfAContainerIsOneFrameOnWhichNoTerminalActs() throws IOException {
        connection.refuseContainer("no GPU is free\u001b[2J\nsee 'jnvdocker gpu ls'");
        assertFrame(
                'F',
                "no GPU is free\\u{1b}[2J\nsee 'jnvdocker gpu ls'"
                        .getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void bytesOfTheUserArriveAsTheyWere() throws IOException {
        sendRequest("caf\udce9");
        connection.exec(question().arguments());
        assertFrame('X', new byte[] {0, 0, 0, 1, 0, 0, 0, 4, 'c', 'a', 'f', (byte) 0xe9});
    }

    @Test
    void capturedOutputComesBack() throws IOException {
        send('R', new byte[] {0, 0, 0, 0, 'h', 'i', '\n'});
        CallResult result = connection.capture(List.of("docker", "ps"));
        assertEquals(new CallResult(0, "hi\n"), result);
        assertTrue(result.succeeded());
        assertCall(1, List.of("docker", "ps"));
    }

    @Test
    void streamIsRequestedPieceByPiece() throws IOException {
        CallStream stream = connection.stream(List.of("cat", "x"));
        byte[] piece = new byte[CallStream.PIECE];
        Arrays.fill(piece, (byte) 'x');
        send('D', piece);
        send('D', new byte[] {'e', 'n', 'd'});
        send('R', new byte[] {0, 0, 0, 3});
        byte[] all = stream.readAllBytes();
        assertEquals(CallStream.PIECE + 3, all.length);
        assertEquals('d', all[all.length - 1]);
        assertEquals(3, stream.end());
        stream.close();
        assertFrame('S', new Payload.Writer().number(1).strings(List.of("cat", "x")).toBytes());
        assertFrame('M', new byte[0]);
        assertFrame('M', new byte[0]);
        assertFrame('N', new byte[0]);
    }

    @Test
    void streamMayBeGivenUpAndTheProgramsEndDoesNotMatterThen() throws IOException {
        try (CallStream stream = connection.stream(List.of("yes"))) {
            send('D', new byte[CallStream.PIECE]);
            send('R', new byte[] {0, 0, 0, (byte) 143});
            assertEquals(0, stream.read());
            assertEquals(0, stream.end());
        }
        assertEquals(new CallResult(0, ""), resultAfterStream());
    }

    /** Checks that the connection is in step again. */
    private CallResult resultAfterStream() throws IOException {
        send('R', new byte[] {0, 0, 0, 0});
        return connection.capture(List.of("true"));
    }

    @Test
    void emptyStreamEnds() throws IOException {
        CallStream stream = connection.stream(List.of("true"));
        send('D', new byte[0]);
        send('R', new byte[] {0, 0, 0, 1});
        assertEquals(-1, stream.read());
        assertEquals(-1, stream.read());
        assertEquals(1, stream.end());
    }

    @Test
    void clientThatGoesAwayInAStreamIsAnError() throws IOException {
        CallStream stream = connection.stream(List.of("cat"));
        client.close();
        assertThrows(IOException.class, stream::read);
    }

    @Test
    void longTextIsWrittenInSeveralFrames() throws Exception {
        String text = "x".repeat(3 << 20);
        Thread writer = inBackground(() -> connection.out(text));
        int length = 0;
        while (length <= text.length()) {
            assertEquals('O', (char) in.readByte());
            byte[] part = new byte[in.readInt()];
            assertTrue(part.length <= 1 << 20);
            in.readFully(part);
            length += part.length;
        }
        writer.join();
        assertEquals(text.length() + 1, length);
    }

    @Test
    void programMayFailAndSayNothing() throws IOException {
        send('R', new byte[] {0, 0, 0, (byte) 137});
        List<String> pull = List.of("docker", "pull");
        assertEquals(new CallResult(137, ""), connection.showWithoutLastLine(pull));
        assertCall(18, pull);
    }

    @Test
    void resultMustHaveACode() throws IOException {
        send('R', new byte[] {0, 0, 0});
        assertThrows(IOException.class, () -> connection.capture(List.of("true")));
    }

    @Test
    void outputThatIsNoTextIsReplaced() throws IOException {
        send('R', new byte[] {0, 0, 0, 0, (byte) 0xff});
        assertEquals("\ufffd", connection.capture(List.of("cat")).output());
    }

    @Test
    void otherFrameInPlaceOfTheRequestIsAnError() throws IOException {
        send('R', new byte[] {0, 0, 0, 0});
        assertThrows(IOException.class, this::question);
    }

    @Test
    void unknownFrameIsAnError() throws IOException {
        out.write(new byte[] {'G', 0, 0, 0, 0});
        var error = assertThrows(IOException.class, this::question);
        assertEquals("no frame has the type 71", error.getMessage());
    }

    @Test
    void frameBeyondTheLimitIsAnErrorBeforeItComes() throws IOException {
        for (int length : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, (16 << 20) + 1}) {
            out.writeByte('Q');
            out.writeInt(length);
            var error = assertThrows(IOException.class, this::question);
            assertTrue(error.getMessage().contains("is longer than"), error.toString());
        }
    }

    @Test
    void largeFrameIsReadToItsEnd() throws Exception {
        byte[] result = new byte[8 << 20];
        Arrays.fill(result, 4, result.length, (byte) 'x');
        Thread sender = inBackground(() -> send('R', result));
        CallResult call = connection.capture(List.of("cat"));
        sender.join();
        assertEquals((8 << 20) - 4, call.output().length());
    }

    @Test
    void clientThatGoesAwayIsAnErrorWhereverItStops() throws IOException {
        out.write(frame('Q', request("version")), 0, 20);
        client.close();
        assertThrows(EOFException.class, this::question);
    }

    @Test
    void clientThatSaysNothingIsGone() throws IOException {
        client.close();
        assertThrows(EOFException.class, this::question);
        assertThrows(IOException.class, () -> connection.out("anybody there?"));
    }

    @Test
    void emptyRequestIsAnError() throws IOException {
        send('Q', new byte[0]);
        assertThrows(IOException.class, this::question);
    }

    private interface Sending {
        void run() throws IOException;
    }

    /** A payload longer than the socket's buffer has to be sent while it is read. */
    private static Thread inBackground(Sending sending) {
        return Thread.ofVirtual()
                .start(() -> {
                    try {
                        sending.run();
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
    }

    private void sendRequest(String... arguments) throws IOException {
        send('Q', request(arguments));
    }

    private static byte[] request(String... arguments) throws IOException {
        return request(List.of(), arguments);
    }

    private static byte[] request(List<String> variables, String... arguments) throws IOException {
        return new Payload.Writer()
                .number(1)
                .number(0)
                .number(80)
                .number(0) // the directory, an empty string
                .strings(List.of("/usr/bin/docker"))
                .strings(List.of(arguments))
                .strings(variables)
                .toBytes();
    }

    private void send(char type, byte[] payload) throws IOException {
        out.write(frame(type, payload));
    }

    private static byte[] frame(char type, byte[] payload) {
        return ByteBuffer.allocate(5 + payload.length)
                .put((byte) type)
                .putInt(payload.length)
                .put(payload)
                .array();
    }

    private void assertCall(int flags, List<String> command) throws IOException {
        assertFrame('C', new Payload.Writer().number(flags).strings(command).toBytes());
    }

    private void assertFrame(char type, byte[] payload) throws IOException {
        assertEquals(type, (char) in.readByte());
        byte[] received = new byte[in.readInt()];
        in.readFully(received);
        assertArrayEquals(payload, received);
    }
}
