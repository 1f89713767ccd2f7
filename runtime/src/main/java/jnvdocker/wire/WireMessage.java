package jnvdocker.wire;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A message in protobuf's wire format, whose fields are known by their numbers alone. */
public final class WireMessage {
    /** More than any message that we read has. */
    private static final int MOST_FIELDS = 1 << 16;

    private final Map<Integer, List<ByteString>> strings = new HashMap<>();
    private final Map<Integer, Long> numbers = new HashMap<>();

    private WireMessage() {}

    /**
     * @throws IOException when it is cut short, malformed, or has more fields than any that we know
     */
    public static WireMessage parse(ByteString bytes) throws IOException {
        WireMessage message = new WireMessage();
        CodedInputStream in = bytes.newCodedInput();
        int fields = 0;
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            if (++fields > MOST_FIELDS) {
                throw new IOException("a message has more than " + MOST_FIELDS + " fields");
            }
            int field = WireFormat.getTagFieldNumber(tag);
            switch (WireFormat.getTagWireType(tag)) {
                case WireFormat.WIRETYPE_LENGTH_DELIMITED ->
                        message.strings
                                .computeIfAbsent(field, _ -> new ArrayList<>())
                                .add(in.readBytes());
                case WireFormat.WIRETYPE_VARINT -> message.numbers.put(field, in.readInt64());
                case WireFormat.WIRETYPE_FIXED64 -> message.numbers.put(field, in.readFixed64());
                default -> in.skipField(tag);
            }
        }
        return message;
    }

    public boolean has(int field) {
        return strings.containsKey(field) || numbers.containsKey(field);
    }

    /** The value of a field that may come once; of several the last counts. */
    public Optional<String> text(int field) {
        List<String> all = texts(field);
        return all.isEmpty() ? Optional.empty() : Optional.of(all.getLast());
    }

    /** Bytes in them that are not UTF-8 become U+FFFD. */
    public List<String> texts(int field) {
        return strings.getOrDefault(field, List.of()).stream()
                .map(ByteString::toStringUtf8)
                .toList();
    }

    public Optional<WireMessage> message(int field) throws IOException {
        List<WireMessage> all = messages(field);
        return all.isEmpty() ? Optional.empty() : Optional.of(all.getLast());
    }

    public List<WireMessage> messages(int field) throws IOException {
        List<WireMessage> messages = new ArrayList<>();
        for (ByteString bytes : strings.getOrDefault(field, List.of())) {
            messages.add(parse(bytes));
        }
        return messages;
    }

    /** 0 where it is not there, as for any number of the format. */
    public long number(int field) {
        return numbers.getOrDefault(field, 0L);
    }

    public double real(int field) {
        return Double.longBitsToDouble(number(field));
    }
}
