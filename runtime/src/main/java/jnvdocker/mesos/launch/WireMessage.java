package jnvdocker.mesos.launch;

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
final class WireMessage {
    private final Map<Integer, List<ByteString>> strings = new HashMap<>();
    private final Map<Integer, Long> numbers = new HashMap<>();

    private WireMessage() {}

    /**
     * @throws IOException when it is cut short, or malformed
     */
    static WireMessage parse(ByteString bytes) throws IOException {
        WireMessage message = new WireMessage();
        CodedInputStream in = bytes.newCodedInput();
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
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

    boolean has(int field) {
        return strings.containsKey(field) || numbers.containsKey(field);
    }

    /** The value of a field that may come once; of several the last counts. */
    Optional<String> text(int field) {
        List<String> all = texts(field);
        return all.isEmpty() ? Optional.empty() : Optional.of(all.getLast());
    }

    /** Bytes in them that are not UTF-8 become U+FFFD. */
    List<String> texts(int field) {
        return strings.getOrDefault(field, List.of()).stream()
                .map(ByteString::toStringUtf8)
                .toList();
    }

    Optional<WireMessage> message(int field) throws IOException {
        List<WireMessage> all = messages(field);
        return all.isEmpty() ? Optional.empty() : Optional.of(all.getLast());
    }

    List<WireMessage> messages(int field) throws IOException {
        List<WireMessage> messages = new ArrayList<>();
        for (ByteString bytes : strings.getOrDefault(field, List.of())) {
            messages.add(parse(bytes));
        }
        return messages;
    }

    /** 0 where it is not there, as for any number of the format. */
    long number(int field) {
        return numbers.getOrDefault(field, 0L);
    }

    double real(int field) {
        return Double.longBitsToDouble(number(field));
    }
}
