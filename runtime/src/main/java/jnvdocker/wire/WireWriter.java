package jnvdocker.wire;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/**
 * Writes a message in protobuf's wire format, field by field. A single field with the value of one
 * that is not there is left out, as the format's own writers do.
 */
public final class WireWriter {
    private final ByteString.Output bytes = ByteString.newOutput();
    private final CodedOutputStream out = CodedOutputStream.newInstance(bytes);

    /** Writes to memory, which cannot fail. */
    @FunctionalInterface
    private interface Write {
        void write() throws IOException;
    }

    private WireWriter add(Write field) {
        try {
            field.write();
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public WireWriter text(int field, String value) {
        return value.isEmpty() ? this : add(() -> out.writeString(field, value));
    }

    /** A field that is repeated. */
    public WireWriter texts(int field, List<String> values) {
        values.forEach(value -> add(() -> out.writeString(field, value)));
        return this;
    }

    public WireWriter number(int field, long value) {
        return value == 0 ? this : add(() -> out.writeInt64(field, value));
    }

    public WireWriter flag(int field, boolean value) {
        return value ? add(() -> out.writeBool(field, true)) : this;
    }

    /** Adds a message, also when it is empty. */
    public WireWriter message(int field, WireWriter part) {
        return add(() -> out.writeBytes(field, part.bytes()));
    }

    /** An entry of a field that is a map. */
    public WireWriter entry(int field, String key, String value) {
        return message(field, new WireWriter().texts(1, List.of(key)).texts(2, List.of(value)));
    }

    public ByteString bytes() {
        add(out::flush);
        return bytes.toByteString();
    }
}
