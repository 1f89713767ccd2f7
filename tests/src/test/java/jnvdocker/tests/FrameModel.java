package jnvdocker.tests;

import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * How the client must end, and what it must have printed, when a daemon sends these bytes and then
 * hangs up. The programs are those of {@code SanitizedClient}.
 */
final class FrameModel {
    private static final int MAX_FRAME = 8 << 20;
    private static final int HEAD = 5;
    private static final int REFUSED = 125;
    private static final int NOT_FOUND = 127;
    private static final int ENDED = 128 + 15;
    private static final int PASS = 8;
    private static final String FLOOD = "\0".repeat(5_000_000);

    /** How a program ends, and its output. */
    private record Program(int exitCode, String out) {}

    private static final Map<String, Program> PROGRAMS =
            Map.of(
                    "docker", new Program(5, ""),
                    "quiet", new Program(0, ""),
                    "failing", new Program(3, ""),
                    "talking", new Program(4, "out\n"),
                    "dying", new Program(128 + 9, ""),
                    "flood", new Program(0, FLOOD));

    private final ByteBuffer said;
    private boolean waits;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    /**
     * How the client ends.
     *
     * @param explained whether the client itself refuses, in its own words
     * @param retries whether it keeps sending its request, and ends only when it is killed
     */
    record End(int exitCode, String out, boolean explained, boolean retries) {}

    private FrameModel(byte[] said) {
        this.said = ByteBuffer.wrap(said);
    }

    static End end(byte[] said) {
        FrameModel model = new FrameModel(said);
        try {
            return model.read();
        } catch (BufferUnderflowException e) {
            return model.refusal();
        }
    }

    /** Refuses truncated input. */
    private End read() {
        while (true) {
            if (said.remaining() < HEAD) {
                return desertion();
            }
            byte type = said.get();
            int length = said.getInt();
            if (length < 0 || length > MAX_FRAME) {
                return refusal();
            }
            if (length > said.remaining()) {
                return desertion();
            }
            ByteBuffer payload = said.slice(said.position(), length);
            said.position(said.position() + length);
            switch (type) {
                case 'O' -> out.write(payload.array(), payload.arrayOffset(), length);
                case 'E' -> {}
                case 'W' -> waits = true;
                case 'A' -> {
                    payload.getInt();
                    return again();
                }
                case 'C' -> call(payload);
                case 'S' -> stream(payload);
                case 'X' -> {
                    return become(words(payload).getFirst(), REFUSED);
                }
                case 'P' -> {
                    variables(payload);
                    return become(words(payload).getFirst(), NOT_FOUND);
                }
                case 'T' -> {
                    return new End(payload.getInt() & 0xff, printed(), false, false);
                }
                default -> {
                    return refusal();
                }
            }
        }
    }

    private void call(ByteBuffer payload) {
        int flags = payload.getInt();
        Program program = PROGRAMS.get(terminated(words(payload).getFirst()));
        if (flags == PASS && program != null) {
            out.writeBytes(program.out().getBytes(StandardCharsets.UTF_8));
        }
    }

    private void stream(ByteBuffer payload) {
        call(payload);
        byte type = 'M';
        while (type == 'M') {
            type = said.get();
            if (type != 'M' && type != 'N' || said.getInt() != 0) {
                throw new BufferUnderflowException();
            }
        }
    }

    private static List<String> words(ByteBuffer payload) {
        int count = payload.getInt();
        if (count <= 0 || count > payload.remaining() / 4) {
            throw new BufferUnderflowException();
        }
        List<String> words = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            words.add(word(payload));
        }
        return words;
    }

    private static void variables(ByteBuffer payload) {
        for (long count = payload.getInt() & 0xffffffffL; count > 0; count--) {
            word(payload);
        }
    }

    private static String word(ByteBuffer payload) {
        int length = payload.getInt();
        if (length < 0 || length > payload.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] word = new byte[length];
        payload.get(word);
        return new String(word, StandardCharsets.ISO_8859_1);
    }

    /** The kernel ends a word at its first NUL byte. */
    private static String terminated(String word) {
        int end = word.indexOf('\0');
        return end < 0 ? word : word.substring(0, end);
    }

    private End become(String word, int otherwise) {
        Program program = PROGRAMS.get(terminated(word));
        return program == null
                ? new End(otherwise, printed(), true, false)
                : new End(program.exitCode(), printed() + program.out(), false, false);
    }

    /** A client with a place in the queue keeps it for the next daemon. */
    private End desertion() {
        return waits ? again() : refusal();
    }

    private End again() {
        return new End(ENDED, printed(), false, true);
    }

    private End refusal() {
        return new End(REFUSED, printed(), true, false);
    }

    private String printed() {
        return out.toString(StandardCharsets.UTF_8);
    }
}
