package jnvdocker.protocol;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The contents of a frame: numbers of 4 bytes, big endian; strings, preceded by their length;
 * lists, preceded by their count.
 */
final class Payload {
    private Payload() {}

    static final class Writer {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final DataOutputStream out = new DataOutputStream(bytes);

        Writer number(int number) throws IOException {
            out.writeInt(number);
            return this;
        }

        Writer strings(List<String> texts) throws IOException {
            out.writeInt(texts.size());
            for (String text : texts) {
                byte[] raw = RawText.encode(text);
                out.writeInt(raw.length);
                out.write(raw);
            }
            return this;
        }

        byte[] toBytes() {
            return bytes.toByteArray();
        }
    }

    /**
     * Throws IOException for truncated data: no length is trusted before its bytes have arrived.
     */
    static final class Reader {
        /** Each string takes far more memory here than its 4 bytes in the frame. */
        private static final int MAX_STRINGS = 1 << 18;

        /** The size of an object and of its place in a list. */
        private static final long STRING = 64;

        private final ByteBuffer bytes;
        private final Memory memory;

        /** Counts the memory of objects that are about to be made from a frame. */
        interface Memory {
            void take(long bytes) throws IOException;
        }

        Reader(byte[] bytes) {
            this(bytes, _ -> {});
        }

        Reader(byte[] bytes, Memory memory) {
            this.bytes = ByteBuffer.wrap(bytes);
            this.memory = memory;
        }

        int number() throws IOException {
            need(4);
            return bytes.getInt();
        }

        String string() throws IOException {
            int length = need(number());
            memory.take(STRING + 2L * length);
            byte[] raw = new byte[length];
            bytes.get(raw);
            return RawText.decode(raw);
        }

        List<String> strings() throws IOException {
            int count = number();
            if (count > MAX_STRINGS) {
                throw new IOException(
                        "a frame has more than " + MAX_STRINGS + " strings: " + count);
            }
            // A string takes at least its length field, so a small frame cannot claim a huge list.
            need(Math.multiplyExact(4L, count));
            List<String> texts = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                texts.add(string());
            }
            return texts;
        }

        byte[] rest() {
            byte[] raw = new byte[bytes.remaining()];
            bytes.get(raw);
            return raw;
        }

        private int need(long length) throws IOException {
            if (length < 0 || length > bytes.remaining()) {
                throw new IOException(
                        "a frame is cut short: %s bytes are announced, %s are left"
                                .formatted(length, bytes.remaining()));
            }
            return (int) length;
        }
    }
}
