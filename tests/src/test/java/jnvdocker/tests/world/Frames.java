package jnvdocker.tests.world;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Frames that a daemon may send to the client, valid or not, written out byte by byte. */
public final class Frames {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    public Frames frame(char type, byte[] payload) {
        announce(type, payload.length);
        bytes.writeBytes(payload);
        return this;
    }

    /** The head of a frame, whose payload may never follow. */
    public Frames announce(char type, int length) {
        bytes.write(type);
        bytes.writeBytes(number(length));
        return this;
    }

    public Frames out(String text) {
        return frame('O', text.getBytes(StandardCharsets.UTF_8));
    }

    public Frames err(String text) {
        return frame('E', text.getBytes(StandardCharsets.UTF_8));
    }

    /** The flags: 1 captures the output, 2 hides the errors, 4 captures those too. */
    public Frames call(int flags, String... words) {
        return frame('C', joined(number(flags), strings(words)));
    }

    public Frames stream(String... words) {
        return frame('S', joined(number(1), strings(words)));
    }

    public Frames more() {
        return frame('M', new byte[0]);
    }

    public Frames enough() {
        return frame('N', new byte[0]);
    }

    public Frames exec(String... words) {
        return frame('X', strings(words));
    }

    public Frames exit(int code) {
        return frame('T', number(code));
    }

    public Frames again(int pauseMillis) {
        return frame('A', number(pauseMillis));
    }

    public Frames refuse(String why) {
        return frame('F', why.getBytes(StandardCharsets.UTF_8));
    }

    public Frames waits() {
        return frame('W', new byte[0]);
    }

    public byte[] toBytes() {
        return bytes.toByteArray();
    }

    private static byte[] number(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    private static byte[] strings(String... words) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(number(words.length));
        for (String word : words) {
            byte[] raw = word.getBytes(StandardCharsets.UTF_8);
            all.writeBytes(number(raw.length));
            all.writeBytes(raw);
        }
        return all.toByteArray();
    }

    private static byte[] joined(byte[]... pieces) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] piece : pieces) {
            all.writeBytes(piece);
        }
        return all.toByteArray();
    }
}
