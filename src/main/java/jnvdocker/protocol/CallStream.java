package jnvdocker.protocol;

import java.io.IOException;
import java.io.InputStream;
import java.util.Objects;

/**
 * What a program prints that the client runs for us, however long that is. Until it is closed
 * nothing else can be said to the client.
 */
public final class CallStream extends InputStream {
    /** The client's; a shorter piece is the last. */
    static final int PIECE = 1 << 16;

    private final ClientConnection client;
    private byte[] piece = new byte[0];
    private int at;
    private boolean ended;
    private boolean closed;

    CallStream(ClientConnection client) {
        this.client = client;
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
            piece = client.more();
            at = 0;
            ended = piece.length < PIECE;
        }
        if (at == piece.length) {
            return -1;
        }
        int count = Math.min(length, piece.length - at);
        System.arraycopy(piece, at, into, offset, count);
        at += count;
        return count;
    }

    /**
     * Ends the program if it has not printed everything yet.
     *
     * @return its exit code; 0 as well for one that was ended, since it has done all we wanted
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
