package jnvdocker.docker.engine;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * JSON in which long strings are cut off, so that no name or value of a container is too long to be
 * parsed. Those of lists are cut off early: a list only reports which containers there are.
 */
final class ClippedStrings extends FilterInputStream {
    /** A longer variable, with each of its characters escaped, is one that Linux refuses. */
    private static final int LONGEST = 1 << 20;

    private static final int LONGEST_IN_LIST = 4 << 10;
    private static final int HEX_DIGITS = 4;

    private int longest;
    private boolean inString;
    private boolean isEscaped;
    private boolean isCut;
    private int digits;
    private int length;

    ClippedStrings(InputStream in) {
        super(in);
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    /** Returns as soon as there is anything, as the events of an engine come one by one. */
    @Override
    public int read(byte[] into, int offset, int most) throws IOException {
        int kept = 0;
        while (kept == 0 && most > 0) {
            int count = super.read(into, offset, most);
            if (count < 0) {
                return -1;
            }
            for (int i = offset; i < offset + count; i++) {
                if (isKept(into[i])) {
                    into[offset + kept++] = into[i];
                }
            }
        }
        return kept;
    }

    @Override
    public boolean markSupported() {
        return false;
    }

    private boolean isKept(byte next) {
        if (longest == 0) {
            longest = next == '[' ? LONGEST_IN_LIST : LONGEST;
        }
        if (!inString) {
            inString = next == '"';
            isCut = false;
            length = 0;
            return true;
        }
        boolean begins = !isEscaped && digits == 0 && (next & 0xc0) != 0x80;
        if (isEscaped) {
            isEscaped = false;
            digits = next == 'u' ? HEX_DIGITS : 0;
        } else if (digits > 0) {
            digits--;
        } else if (next == '"') {
            inString = false;
            return true;
        } else if (next == '\\') {
            isEscaped = true;
        }
        isCut |= begins && length >= longest;
        length++;
        return !isCut;
    }
}
