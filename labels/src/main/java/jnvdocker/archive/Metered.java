package jnvdocker.archive;

import java.io.IOException;
import java.io.InputStream;

/**
 * Reads no further than it is allowed to. The readers of formats above it believe what a file says
 * of lengths, and would gather a header of gigabytes in memory.
 */
final class Metered extends InputStream {
    private final InputStream in;
    private long count;
    private long limit = Long.MAX_VALUE;
    private String excess = "";

    /** There is more of something than is read; the message says of what. */
    static final class ExcessException extends IOException {
        private static final long serialVersionUID = 1;

        ExcessException(String message) {
            super(message);
        }
    }

    Metered(InputStream in) {
        this.in = in;
    }

    /** How many bytes have been read. */
    long count() {
        return count;
    }

    /**
     * Limits the bytes that may be read from here on.
     *
     * @param words the complaint when there are more
     */
    void allow(long bytes, String words) {
        limit = count + bytes;
        excess = words;
    }

    void allowAll() {
        limit = Long.MAX_VALUE;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        if (length > 0 && count >= limit) {
            throw new ExcessException(excess);
        }
        int got = in.read(into, offset, (int) Math.min(length, limit - count));
        count += Math.max(0, got);
        return got;
    }

    /** Does nothing: the owner of the wrapped stream closes that. */
    @Override
    public void close() {}
}
