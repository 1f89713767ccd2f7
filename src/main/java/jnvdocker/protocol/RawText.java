package jnvdocker.protocol;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;

/**
 * Arguments and variables are bytes in Linux. They become strings as UTF-8; a byte that is not
 * UTF-8 becomes a lone surrogate U+DC80 to U+DCFF and the same byte again on the way out, so that a
 * user's input is never changed. Python calls this surrogateescape (PEP 383).
 */
public final class RawText {
    private static final char ESCAPE = 0xDC00;

    private RawText() {}

    /** Returns the bytes as text that becomes the same bytes again. */
    public static String decode(byte[] bytes) {
        CharsetDecoder strict = StandardCharsets.UTF_8.newDecoder();
        try {
            return strict.decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException e) {
            return decodeEscaping(bytes);
        }
    }

    private static String decodeEscaping(byte[] bytes) {
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
        ByteBuffer in = ByteBuffer.wrap(bytes);
        CharBuffer out = CharBuffer.allocate(bytes.length);
        while (true) {
            CoderResult result = decoder.decode(in, out, true);
            if (!result.isError()) {
                return out.flip().toString();
            }
            for (int i = 0; i < result.length(); i++) {
                out.put((char) (ESCAPE + (in.get() & 0xff)));
            }
            decoder.reset();
        }
    }

    static byte[] encode(String text) {
        if (text.chars().noneMatch(unit -> Character.isSurrogate((char) unit))) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
        text.codePoints()
                .forEach(point -> {
                    if (point >= ESCAPE + 0x80 && point <= ESCAPE + 0xff) {
                        bytes.write(point - ESCAPE);
                    } else {
                        bytes.writeBytes(
                                Character.toString(point).getBytes(StandardCharsets.UTF_8));
                    }
                });
        return bytes.toByteArray();
    }
}
