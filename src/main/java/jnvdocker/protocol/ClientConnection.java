package jnvdocker.protocol;

import jnvdocker.posix.Posix;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.Ascii;
import jnvdocker.words.Quote;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The daemon's end of one client's connection: reads its request, then gives it orders. {@link
 * #exec}, {@link #program}, {@link #exit} and {@link #again} send the last frame.
 */
public final class ClientConnection implements AutoCloseable {
    private static final int MAX_FRAME = 8 << 20;

    /** A frame's type and the length of the rest of it. */
    private static final int HEADER = 5;

    private static final int PIECE = 1 << 16;

    /** The memory for a frame that was announced and has not begun to arrive. */
    private static final int FIRST_PIECE = 1 << 12;

    /** Java keeps a copy of a longer one outside of its heap until the client has taken it. */
    private static final int SLICE = 8 << 10;

    /** Our frames up to this length take no memory worth counting. */
    private static final int SHORT_FRAME = 4 << 10;

    /** The time limit of a request, and of the rest of any other frame that has begun. */
    private static final Duration REQUEST_TIME = Duration.ofSeconds(10);

    private static final Duration FRAME_TIME = Duration.ofSeconds(60);
    private static final int CAPTURE = 1;
    private static final int HIDE_ERRORS = 2;
    private static final int CAPTURE_ERRORS = 4;
    private static final int PASS = 8;
    private static final int DROP_LAST_LINE = 16;

    private final SocketChannel channel;
    private final FrameMemory.Account memory;
    private final Deadlines deadlines;
    private final Optional<ProcessId> process;
    private boolean isHandedOver;
    private int piece;
    private boolean isAscii;
    private BeforeProgram beforeItBecomes = () -> {};

    /**
     * @param memory the memory of this connection, which closes it
     * @param process the process that made the connection, if it was alive when it was accepted
     */
    public ClientConnection(
            SocketChannel channel,
            FrameMemory.Account memory,
            Deadlines deadlines,
            Optional<ProcessId> process) {
        this.channel = channel;
        this.memory = memory;
        this.deadlines = deadlines;
        this.process = process;
    }

    /**
     * Reads the first thing that is sent: the question of a client of ours, or the beginning of a
     * request of HTTP. The part of a question that is kept counts towards the client's memory until
     * the connection ends.
     *
     * @throws IOException when it is malformed, too long, or does not come
     */
    public Opening opening() throws IOException {
        byte[] bytes;
        ByteBuffer header = ByteBuffer.allocate(HEADER);
        try (var deadline = deadlines.in(REQUEST_TIME, channel)) {
            try {
                fill(header);
                if (Opening.isHttp(header.array())) {
                    return new Opening.Http(header.flip());
                }
                bytes = payload(length(header.flip(), FrameType.REQUEST));
            } catch (EOFException e) {
                // The answer to a browser that is connected and has no request yet is none.
                boolean late = deadline.hasPassed() && header.position() > 0;
                throw late ? new LateException(REQUEST_TIME) : e;
            }
        }
        ClientRequest request =
                ClientRequest.parse(
                        new Payload.Reader(bytes, memory::take), Posix.peer(channel), process);
        memory.give(bytes.length);
        isAscii = request.readsAsciiAlone();
        return new Opening.Question(request);
    }

    /** Leaves the connection to another, and does nothing with it any more. */
    public void handOver(Opening.Taker taker) throws IOException {
        taker.take(channel, memory);
        isHandedOver = true;
    }

    /**
     * Counts an object that is kept for this client towards its memory.
     *
     * @throws IOException when there is not that much left
     */
    public void take(long bytes) throws IOException {
        memory.take(bytes);
    }

    /** Gives back memory of an object that is no longer kept. */
    public void give(long bytes) {
        memory.give(bytes);
    }

    /** Writes a line to the client's standard output. */
    public void out(String line) throws IOException {
        print(line + "\n");
    }

    /** Writes a text to the client's standard output, unchanged: a program may read it. */
    public void print(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int at = 0; at < bytes.length; at += PIECE) {
            int end = Math.min(bytes.length, at + PIECE);
            send(FrameType.OUT, Arrays.copyOfRange(bytes, at, end));
        }
    }

    /** Writes a line to the client's standard error, with our name in front. */
    public void message(String text) throws IOException {
        err("jnvdocker: " + text);
    }

    /** Makes the client repeat its request if this daemon goes away, as it keeps its place. */
    public void waits() throws IOException {
        send(FrameType.WAIT, new byte[0]);
    }

    /** Writes a line to the client's standard error, for a person: no terminal acts on it. */
    public void err(String line) throws IOException {
        String shown = Quote.lines(line) + "\n";
        String readable = isAscii ? Ascii.of(shown) : shown;
        send(FrameType.ERR, readable.getBytes(StandardCharsets.UTF_8));
    }

    /** Has the client run a program as its child, with the program's output in the result. */
    public CallResult capture(List<String> command) throws IOException {
        return call(CAPTURE, command);
    }

    /** Like {@link #capture}, with the program's errors kept from the user. */
    public CallResult captureQuietly(List<String> command) throws IOException {
        return call(CAPTURE | HIDE_ERRORS, command);
    }

    /** Like {@link #capture}, with the program's errors in the result as well. */
    public CallResult captureAll(List<String> command) throws IOException {
        return call(CAPTURE | CAPTURE_ERRORS, command);
    }

    /**
     * Has the client run a program as its child, with the program's output on standard error; a
     * last line of a success is left out, which is for programs.
     */
    public CallResult showWithoutLastLine(List<String> command) throws IOException {
        return call(DROP_LAST_LINE | HIDE_ERRORS, command);
    }

    /** Has the client run a program as its child, with the client's own input and output. */
    public CallResult pass(List<String> command) throws IOException {
        return call(PASS, command);
    }

    /**
     * Has the client run a program as its child, and returns the stream of the program's output.
     */
    public CallStream stream(List<String> command) throws IOException {
        send(FrameType.STREAM, new Payload.Writer().number(CAPTURE).strings(command).toBytes());
        return new CallStream(this);
    }

    /**
     * Returns the next piece of the open stream.
     *
     * @return empty when it does not come in time; nothing more is received from the client then
     */
    Optional<byte[]> more(Duration patience) throws IOException {
        memory.give(piece);
        piece = 0;
        send(FrameType.MORE, new byte[0]);
        int length;
        try (var deadline = deadlines.in(patience, channel)) {
            try {
                length = header(FrameType.DATA);
            } catch (EOFException e) {
                if (deadline.hasPassed()) {
                    return Optional.empty();
                }
                throw e;
            }
        }
        byte[] bytes = rest(length);
        piece = bytes.length;
        return Optional.of(bytes);
    }

    /** Ends the open stream. */
    int enough() throws IOException {
        memory.give(piece);
        piece = 0;
        send(FrameType.ENOUGH, new byte[0]);
        byte[] bytes = rest(header(FrameType.RESULT));
        memory.give(bytes.length);
        return new Payload.Reader(bytes).number();
    }

    /** Ends an open stream that stalls; its program's exit code is lost. */
    void giveUp() throws IOException {
        send(FrameType.ENOUGH, new byte[0]);
    }

    /** Has some work done before the client becomes a program. */
    public void beforeItBecomes(BeforeProgram work) {
        beforeItBecomes = work;
    }

    /** Has the client become a program. */
    public void exec(List<String> command) throws IOException {
        beforeItBecomes.run();
        send(FrameType.EXEC, new Payload.Writer().strings(command).toBytes());
    }

    /**
     * Has the client become a program that is not docker.
     *
     * @param variables {@code NAME=VALUE}, for its environment
     */
    public void program(List<String> variables, List<String> command) throws IOException {
        beforeItBecomes.run();
        send(FrameType.PROGRAM, new Payload.Writer().strings(variables).strings(command).toBytes());
    }

    /** Reports the reason of a refusal to the client, and has it end. */
    public void refuse(String why) throws IOException {
        message(why);
        exit(ExitCode.REFUSED);
    }

    /** Has a runtime report the reason of a refusal where its engine reads it, and end. */
    public void refuseContainer(String why) throws IOException {
        send(FrameType.REFUSE, Quote.lines(why).getBytes(StandardCharsets.UTF_8));
    }

    /** Has the client end. */
    public void exit(ExitCode code) throws IOException {
        exit(code.code());
    }

    /** Has the client end with another program's code. */
    public void exit(int code) throws IOException {
        send(FrameType.EXIT, new Payload.Writer().number(code).toBytes());
    }

    /**
     * Has the client repeat its request after a while, to whichever daemon runs then.
     *
     * @param pause which the client takes for a second when it is less, for an hour when it is more
     */
    public void again(Duration pause) throws IOException {
        int millis = (int) Math.min(pause.toMillis(), Integer.MAX_VALUE);
        send(FrameType.AGAIN, new Payload.Writer().number(millis).toBytes());
    }

    private CallResult call(int flags, List<String> command) throws IOException {
        send(FrameType.CALL, new Payload.Writer().number(flags).strings(command).toBytes());
        byte[] bytes = rest(header(FrameType.RESULT));
        try {
            memory.take(bytes.length);
            Payload.Reader result = new Payload.Reader(bytes);
            int exitCode = result.number();
            String output = new String(result.rest(), StandardCharsets.UTF_8);
            return new CallResult(exitCode, output);
        } finally {
            memory.give(2L * bytes.length);
        }
    }

    private void send(FrameType type, byte[] payload) throws IOException {
        if (payload.length <= SHORT_FRAME) {
            write(channel, type, payload);
            return;
        }
        memory.take(payload.length);
        try {
            write(channel, type, payload);
        } finally {
            memory.give(payload.length);
        }
    }

    /**
     * Reports the reason of a refusal to a client that is turned away before its request is read,
     * and has it end.
     */
    public static void refuse(SocketChannel channel, String why) throws IOException {
        byte[] message = ("jnvdocker: " + why + "\n").getBytes(StandardCharsets.UTF_8);
        write(channel, FrameType.ERR, message);
        int code = ExitCode.REFUSED.code();
        write(channel, FrameType.EXIT, new Payload.Writer().number(code).toBytes());
    }

    private static void write(SocketChannel channel, FrameType type, byte[] payload)
            throws IOException {
        ByteBuffer frame = ByteBuffer.allocate(HEADER + payload.length);
        frame.put(type.code()).putInt(payload.length).put(payload).flip();
        int end = frame.limit();
        while (frame.position() < end) {
            frame.limit(Math.min(end, frame.position() + SLICE));
            channel.write(frame);
        }
    }

    /** Waits for a frame without a limit; returns the length of the rest of it. */
    private int header(FrameType expected) throws IOException {
        ByteBuffer header = ByteBuffer.allocate(HEADER);
        fill(header);
        return length(header.flip(), expected);
    }

    private static int length(ByteBuffer header, FrameType expected) throws IOException {
        FrameType type = FrameType.of(header.get());
        int length = header.getInt();
        if (type != expected) {
            throw new IOException("a frame " + type + " came in place of " + expected);
        }
        if (length < 0 || length > MAX_FRAME) {
            throw new IOException(
                    "a frame is longer than " + MAX_FRAME + " bytes: " + (length & 0xffffffffL));
        }
        return length;
    }

    private byte[] rest(int length) throws IOException {
        try (var deadline = deadlines.in(FRAME_TIME, channel)) {
            try {
                return payload(length);
            } catch (EOFException e) {
                throw deadline.hasPassed() ? new LateException(FRAME_TIME) : e;
            }
        }
    }

    /**
     * Grows with the bytes that have arrived, so that a mere announcement takes no memory. The
     * result counts until it is given back.
     */
    private byte[] payload(int length) throws IOException {
        int capacity = Math.min(length, FIRST_PIECE);
        memory.take(capacity);
        ByteBuffer bytes = ByteBuffer.allocate(capacity);
        fill(bytes);
        while (bytes.capacity() < length) {
            int before = bytes.capacity();
            int larger = (int) Math.min(length, 2L * before);
            memory.take(larger);
            bytes = ByteBuffer.allocate(larger).put(bytes.flip());
            memory.give(before);
            fill(bytes);
        }
        return bytes.array();
    }

    private void fill(ByteBuffer bytes) throws IOException {
        int end = bytes.limit();
        while (bytes.position() < end) {
            bytes.limit(Math.min(end, bytes.position() + SLICE));
            if (channel.read(bytes) < 0) {
                throw new EOFException("the client is gone");
            }
        }
    }

    /** Closes the connection, unless it is another's by now. */
    @Override
    public void close() throws IOException {
        if (!isHandedOver) {
            memory.close();
            channel.close();
        }
    }
}
