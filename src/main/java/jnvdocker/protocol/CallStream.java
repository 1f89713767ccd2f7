package jnvdocker.protocol;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * The output, of any length, of a program that the client runs for us. Until it is closed nothing
 * else can be sent to the client.
 */
public final class CallStream extends InputStream {
    /** The client's size of a piece; a shorter piece is the last. */
    static final int PIECE = 1 << 16;

    /** The time limit of a piece. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /**
     * In bytes per second: a stream that is slower on average keeps others waiting for too long.
     */
    private static final long SLOWEST = 1 << 20;

    private final ClientConnection client;
    private final Duration patience;
    private final long began = System.nanoTime();
    private long total;
    private boolean stalled;
    private byte[] piece = new byte[0];
    private int at;
    private boolean ended;
    private boolean closed;

    CallStream(ClientConnection client) {
        this(client, PATIENCE);
    }

    CallStream(ClientConnection client, Duration patience) {
        this.client = client;
        this.patience = patience;
    }

    /** Whether it was given up because it was too slow, or stalled entirely. */
    public boolean isStalled() {
        return stalled;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, into.length);
        if (length == 0) {
            return 0;
        }
        if (at == piece.length && !ended && !closed) {
            next();
        }
        if (at == piece.length) {
            return -1;
        }
        int count = Math.min(length, piece.length - at);
        System.arraycopy(piece, at, into, offset, count);
        at += count;
        return count;
    }

    private void next() throws IOException {
        long spent = System.nanoTime() - began;
        Duration slow =
                patience.plus(Duration.ofSeconds(total / SLOWEST)).minus(Duration.ofNanos(spent));
        Optional<byte[]> more = client.more(slow.compareTo(patience) < 0 ? slow : patience);
        stalled = more.isEmpty();
        if (stalled) {
            closed = true;
            client.giveUp();
            throw new IOException(
                    "read stalled: %s bytes in %s s"
                            .formatted(total, Duration.ofNanos(spent).toSeconds()));
        }
        piece = more.get();
        at = 0;
        total += piece.length;
        ended = piece.length < PIECE;
    }

    /**
     * Ends the program if it has not printed everything yet.
     *
     * @return its exit code; 0 as well if it was ended, since it has done all we wanted
     */
    public int end() throws IOException {
        if (closed) {
            throw new IllegalStateException("the stream has been closed");
        }
        closed = true;
        at = piece.length;
        int exitCode = client.enough();
        return ended ? exitCode : 0;
    }

    @Override
    public void close() throws IOException {
        if (!closed) {
            end();
        }
    }
}
