package jnvdocker.protocol;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;

class RawTextTest {
    @ParameterizedTest
    @ValueSource(strings = {"", "run --rm cuda", "Grüße", "日本語", "🐳 and 🐋", "\0\n\t", "\uffff"})
    void utf8IsItsText(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        assertEquals(text, RawText.decode(bytes));
        assertArrayEquals(bytes, RawText.encode(text));
    }

    @Test
    void otherBytesAreLoneSurrogatesAsInPython() {
        assertEquals("a\udcffb", decode("61ff62"));
        assertEquals("Gr\udcfc\udcdfe", decode("4772fcdf65"));
        assertEquals("🐳\udcf0\udc9f", decode("f09f90b3f09f"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "80", // begins in the middle
                "c3", // truncated
                "c3c3a4",
                "e282", // truncated after two
                "f09f90",
                "f09f90b3f09f90",
                "c080", // overlong
                "eda0bdedb0b3", // encoded surrogates
                "edb2ff", // resembles an escape
                "edb380",
                "f4908080", // beyond Unicode
                "fffefdfc",
                "00ff00",
            })
    void malformedBytesSurvive(String hex) {
        assertEquals(hex, HexFormat.of().formatHex(RawText.encode(decode(hex))));
    }

    @Test
    void anyBytesSurvive() {
        Random random = new Random(20_26);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = new byte[random.nextInt(12)];
            random.nextBytes(bytes);
            assertArrayEquals(bytes, RawText.encode(RawText.decode(bytes)));
        }
    }

    /** Most of these bytes begin or continue a character, so that the decoder gets far. */
    @Test
    void almostUtf8Survives() {
        byte[] choice = HexFormat.of().parseHex("6180bfc3e282aceda0b0dff09f90b3f4ff");
        Random random = new Random(20_27);
        for (int i = 0; i < 50_000; i++) {
            byte[] bytes = new byte[random.nextInt(10)];
            for (int j = 0; j < bytes.length; j++) {
                bytes[j] = choice[random.nextInt(choice.length)];
            }
            assertArrayEquals(bytes, RawText.encode(RawText.decode(bytes)));
        }
    }

    @Test
    void manyMalformedBytesSurvive() {
        byte[] bytes = new byte[1 << 20];
        Arrays.fill(bytes, (byte) 0xff);
        assertArrayEquals(bytes, RawText.encode(RawText.decode(bytes)));
    }

    private static String decode(String hex) {
        return RawText.decode(HexFormat.of().parseHex(hex));
    }
}
