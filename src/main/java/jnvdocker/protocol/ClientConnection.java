package jnvdocker.protocol;

import jnvdocker.posix.Posix;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The daemon's end of one client's connection: reads its request, then gives it orders. Whoever
 * sent {@link #exec}, {@link #program}, {@link #exit} or {@link #again} has said all.
 */
public final class ClientConnection implements AutoCloseable {
    private static final int MAX_FRAME = 8 << 20;
    private static final int LARGE_FRAME = 1 << 16;
    private static final int PATIENCE_SECONDS = 10;
    private static final int CAPTURE = 1;
    private static final int HIDE_ERRORS = 2;
    private static final int CAPTURE_ERRORS = 4;

    private final SocketChannel channel;
    private final Semaphore memory;
    private int taken;

    /**
     * @param memory KiB that all connections' large frames may take together; whoever finds too
     *     little left waits, for ten seconds
     */
    public ClientConnection(SocketChannel channel, Semaphore memory) {
        this.channel = channel;
        this.memory = memory;
    }

    /**
     * Reads the client's question, the first thing it sends.
     *
     * @throws IOException when it is malformed, too long, or does not come
     */
    public Request request() throws IOException {
        return Request.parse(receive(FrameType.REQUEST), Posix.peer(channel));
    }

    /** Writes a line to the client's standard output. */
    public void out(String line) throws IOException {
        print(line + "\n");
    }

    /** Writes a text to the client's standard output, as it is. */
    public void print(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int at = 0; at < bytes.length; at += MAX_FRAME / 8) {
            int end = Math.min(bytes.length, at + MAX_FRAME / 8);
            send(FrameType.OUT, Arrays.copyOfRange(bytes, at, end));
        }
    }

    /** Writes a line to the client's standard error, with our name before it. */
    public void message(String text) throws IOException {
        err("jnvdocker: " + text);
    }

    /** From now on the client asks again if this daemon goes away: it keeps its place. */
    public void waits() throws IOException {
        send(FrameType.WAIT, new byte[0]);
    }

    /** Writes a line to the client's standard error. */
    public void err(String line) throws IOException {
        send(FrameType.ERR, (line + "\n").getBytes(StandardCharsets.UTF_8));
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

    /** Has the client run a program as its child, with the program's output on standard error. */
    public CallResult show(List<String> command) throws IOException {
        return call(0, command);
    }

    /**
     * Has the client run a program as its child, with the program's output to be read from here.
     */
    public CallStream stream(List<String> command) throws IOException {
        send(FrameType.STREAM, new Payload.Writer().number(CAPTURE).strings(command).toBytes());
        return new CallStream(this);
    }

    /** The next piece of the stream that is open. */
    byte[] more() throws IOException {
        send(FrameType.MORE, new byte[0]);
        return receive(FrameType.DATA);
    }

    /** Ends the stream that is open. */
    int enough() throws IOException {
        send(FrameType.ENOUGH, new byte[0]);
        return new Payload.Reader(receive(FrameType.RESULT)).number();
    }

    /** Has the client become a program. */
    public void exec(List<String> command) throws IOException {
        send(FrameType.EXEC, new Payload.Writer().strings(command).toBytes());
    }

    /**
     * Has the client become a program that is not docker.
     *
     * @param variables {@code NAME=VALUE}, for its environment
     */
    public void program(List<String> variables, List<String> command) throws IOException {
        send(FrameType.PROGRAM, new Payload.Writer().strings(variables).strings(command).toBytes());
    }

    /** Says why not, and has the client end. */
    public void refuse(String why) throws IOException {
        message(why);
        exit(ExitCode.REFUSED);
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
     * Has the client ask the same again after a while, of whichever daemon there is then.
     *
     * @param pause which the client takes for a second when it is less, for an hour when it is more
     */
    public void again(Duration pause) throws IOException {
        int millis = (int) Math.min(pause.toMillis(), Integer.MAX_VALUE);
        send(FrameType.AGAIN, new Payload.Writer().number(millis).toBytes());
    }

    private CallResult call(int flags, List<String> command) throws IOException {
        send(FrameType.CALL, new Payload.Writer().number(flags).strings(command).toBytes());
        int before = taken;
        Payload.Reader result = new Payload.Reader(receive(FrameType.RESULT));
        int exitCode = result.number();
        String output = new String(result.rest(), StandardCharsets.UTF_8);
        memory.release(taken - before);
        taken = before;
        return new CallResult(exitCode, output);
    }

    private void send(FrameType type, byte[] payload) throws IOException {
        ByteBuffer frame = ByteBuffer.allocate(5 + payload.length);
        frame.put(type.code()).putInt(payload.length).put(payload).flip();
        while (frame.hasRemaining()) {
            channel.write(frame);
        }
    }

    private byte[] receive(FrameType expected) throws IOException {
        ByteBuffer header = read(5);
        FrameType type = FrameType.of(header.get());
        int length = header.getInt();
        if (type != expected) {
            throw new IOException("a frame " + type + " came in place of " + expected);
        }
        if (length < 0 || length > MAX_FRAME) {
            throw new IOException(
                    "a frame is longer than " + MAX_FRAME + " bytes: " + (length & 0xffffffffL));
        }
        if (length > LARGE_FRAME) {
            take(length >> 10);
        }
        return read(length).array();
    }

    private void take(int kib) throws IOException {
        try {
            if (!memory.tryAcquire(kib, PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException("too many large requests at once");
            }
            taken += kib;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("the daemon is stopping", e);
        }
    }

    /** Hangs up. */
    @Override
    public void close() throws IOException {
        memory.release(taken);
        taken = 0;
        channel.close();
    }

    /** Grows with what has come, so that a mere announcement takes no memory. */
    private ByteBuffer read(int length) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Math.min(length, 1 << 16));
        while (true) {
            if (!bytes.hasRemaining() && bytes.capacity() < length) {
                int larger = Math.min(length, 2 * bytes.capacity());
                bytes = ByteBuffer.allocate(larger).put(bytes.flip());
            }
            if (!bytes.hasRemaining()) {
                return bytes.flip();
            }
            if (channel.read(bytes) < 0) {
                throw new EOFException("the client is gone");
            }
        }
    }
}
