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

/** A message in protobuf's wire format, with fields that are known by their numbers alone. */
public final class WireMessage {
    /** More than any message that we read has, with all messages in it. */
    private static final int MOST_FIELDS = 1 << 18;

    private final Map<Integer, List<ByteString>> strings = new HashMap<>();
    private final Map<Integer, Long> numbers = new HashMap<>();
    private final Budget budget;

    private WireMessage(Budget budget) {
        this.budget = budget;
    }

    /** The limit of a message's fields: one of two bytes takes far more memory here. */
    private static final class Budget {
        private int fields = MOST_FIELDS;

        void take() throws IOException {
            if (--fields < 0) {
                throw new IOException("a message has more than " + MOST_FIELDS + " fields");
            }
        }
    }

    /**
     * @throws IOException when it is cut short, malformed, or has more fields than any that we know
     */
    public static WireMessage parse(ByteString bytes) throws IOException {
        return parse(bytes, new Budget());
    }

    private static WireMessage parse(ByteString bytes, Budget budget) throws IOException {
        WireMessage message = new WireMessage(budget);
        CodedInputStream in = bytes.newCodedInput();
        in.enableAliasing(true); // Its texts are no copies.
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            budget.take();
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

    /**
     * @throws IOException when one is malformed, or all have more fields than any that we know
     */
    public List<WireMessage> messages(int field) throws IOException {
        List<WireMessage> messages = new ArrayList<>();
        for (ByteString bytes : strings.getOrDefault(field, List.of())) {
            messages.add(parse(bytes, budget));
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
