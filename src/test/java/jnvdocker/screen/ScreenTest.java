package jnvdocker.screen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import jnvdocker.posix.Peer;
import jnvdocker.protocol.ClientRequest;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.Map;
import java.util.Optional;

class ScreenTest {
    private static Screen screen(boolean out, Map<String, String> variables) {
        return screen(out, 80, variables);
    }

    private static Screen screen(boolean out, int columns, Map<String, String> variables) {
        return Screen.of(
                new ClientRequest(
                        new Peer(1, 0),
                        Optional.empty(),
                        new ClientRequest.Terminals(true, out, true),
                        false,
                        columns,
                        "/",
                        List.of("docker"),
                        List.of("gpu", "ls"),
                        variables));
    }

    @Test
    void whatGoesElsewhereIsNeitherShortenedNorColoured() {
        assertEquals(Screen.NONE, screen(false, Map.of("TERM", "xterm", "LINES", "24")));
    }

    @ParameterizedTest
    @CsvSource({
        "xterm, , true",
        "dumb, , false",
        "'', , false",
        "xterm, '', true",
        "xterm, 1, false",
        "xterm, 0, false"
    })
    void coloursAreShownWhereTheyAreWanted(String term, String noColor, boolean hasColours) {
        Map<String, String> variables =
                noColor == null ? Map.of("TERM", term) : Map.of("TERM", term, "NO_COLOR", noColor);
        assertEquals(new Screen(80, 0, true, hasColours, false), screen(true, variables));
    }

    @Test
    void terminalThatDoesNotSayWhatItIsHasNoColours() {
        assertEquals(new Screen(80, 0, true, false, false), screen(true, Map.of()));
    }

    @Test
    void terminalThatDoesNotSayHowWideItIsIsAsWideAsMost() {
        assertEquals(80, screen(true, 0, Map.of()).columns());
        assertEquals(132, screen(true, 132, Map.of()).columns());
        assertEquals(0, screen(false, 0, Map.of()).columns());
    }

    @ParameterizedTest
    @CsvSource({"C, true", "'', true", "de_DE, true", "C.UTF-8, false", "en_US.utf8, false"})
    void localeSaysWhatCanBeRead(String locale, boolean isAscii) {
        assertEquals(isAscii, screen(true, Map.of("LC_CTYPE", locale)).isAscii());
        assertEquals(isAscii, screen(false, Map.of("LC_CTYPE", locale)).isAscii());
    }

    /** An older client sends no locale. */
    @Test
    void clientOfAnOlderReleaseReadsAll() {
        assertFalse(screen(true, Map.of("LANG", "C")).isAscii());
    }

    @ParameterizedTest
    @CsvSource({"24, 24", "0, 0", "-1, 0", "99999, 0", "'', 0", "x, 0"})
    void heightIsBelieved(String said, int rows) {
        assertEquals(rows, screen(true, Map.of("LINES", said)).rows());
    }
}
