package jnvdocker.protocol;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.HexFormat;
import java.util.List;

class PayloadTest {
    @Test
    void layoutIsTheOneThatTheClientReads() throws IOException {
        byte[] bytes =
                new Payload.Writer().number(258).strings(List.of("run", "", "ä\udcff")).toBytes();
        assertEquals(
                "00000102" + "00000003" + "00000003" + "72756e" + "00000000" + "00000003c3a4ff",
                HexFormat.of().formatHex(bytes));
    }

    @Test
    void whatIsWrittenIsRead() throws IOException {
        byte[] bytes =
                new Payload.Writer()
                        .number(-1)
                        .strings(List.of())
                        .strings(List.of("a", "\udc80", "🐳"))
                        .number(7)
                        .toBytes();
        Payload.Reader reader = new Payload.Reader(bytes);
        assertEquals(-1, reader.number());
        assertEquals(List.of(), reader.strings());
        assertEquals(List.of("a", "\udc80", "🐳"), reader.strings());
        assertArrayEquals(new byte[] {0, 0, 0, 7}, reader.rest());
        assertArrayEquals(new byte[0], reader.rest());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "000000",
                "00000001",
                "0000000100000001",
                "00000001000000ff61",
                "7fffffff00000000",
                "ffffffff",
                "80000000",
                "400000000000000000000000",
                "00000001ffffffff",
                "000000017fffffff61",
            })
    void listThatIsCutShortOrAbsurdIsAnError(String hex) {
        Payload.Reader reader = new Payload.Reader(HexFormat.of().parseHex(hex));
        assertThrows(IOException.class, reader::strings);
    }

    @Test
    void errorSaysWhatIsMissing() {
        Payload.Reader reader = new Payload.Reader(HexFormat.of().parseHex("0000000561"));
        var error = assertThrows(IOException.class, reader::string);
        assertEquals("a frame is cut short: 5 bytes are announced, 1 are left", error.getMessage());
    }
}
