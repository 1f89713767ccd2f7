package jnvdocker.screen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.List;

class WatchScreenTest {
    /** Replaces control sequences by their names, so that a failure is readable. */
    private static String text(int columns, int rows, String... lines) {
        Screen screen = new Screen(columns, rows, true, true, false);
        return new WatchScreen("every 2s: title", List.of(lines), screen)
                .text()
                .replace("\u001b[H", "<home>")
                .replace("\u001b[K", "<rest>")
                .replace("\u001b[J", "<below>");
    }

    @Test
    void eachLineErasesWhatWasThere() {
        assertEquals(
                "<home>every 2s: title<rest>\n<rest>\na<rest>\nb<rest>\n<below>",
                text(80, 24, "a", "b"));
    }

    @Test
    void lineThatIsFullKeepsItsLastCharacter() {
        String full = "\u001b[32mx\u001b[0m".repeat(20);
        assertEquals(
                "<home>every 2s: title<rest>\n<rest>\n" + full + "\n<below>", text(20, 24, full));
    }

    @Test
    void titleIsNoWiderThanTheTerminal() {
        assertEquals("<home>every 2s:…\n<rest>\n<below>", text(10, 24));
    }

    /** The last row is for the cursor. */
    @Test
    void noMoreThanTheTerminalHasRows() {
        assertEquals(
                "<home>every 2s: title<rest>\n<rest>\na<rest>\nb<rest>\n<below>",
                text(80, 5, "a", "b"));
        assertEquals(
                "<home>every 2s: title<rest>\n<rest>\na<rest>\n… 2 more<rest>\n<below>",
                text(80, 5, "a", "b", "c"));
        assertEquals(
                "<home>every 2s: title<rest>\n… 4 more<rest>\n<below>", text(80, 1, "a", "b", "c"));
    }

    @Test
    void whereOnlyAsciiCanBeReadThereIsNothingElse() {
        Screen screen = new Screen(80, 4, true, false, true);
        String text = new WatchScreen("every 2s: Gerät", List.of("a", "b"), screen).text();
        assertTrue(text.contains("every 2s: Ger\\u{e4}t\u001b[K\n"), text);
        assertTrue(text.contains("... 2 more\u001b[K\n"), text);
    }

    @Test
    void lineThatIsTooWideTakesSeveralRows() {
        String wide = "x".repeat(25);
        assertEquals(
                "<home>every 2s: title<rest>\n<rest>\na<rest>\n… 1 more<rest>\n<below>",
                text(20, 5, "a", wide));
        assertEquals(
                "<home>every 2s: title<rest>\n<rest>\na<rest>\n" + wide + "<rest>\n<below>",
                text(20, 6, "a", wide));
    }

    @Test
    void whereTheSizeIsNotKnownAllIsShown() {
        String wide = "x".repeat(1000);
        assertEquals(
                "<home>every 2s: title<rest>\n<rest>\n" + wide + "<rest>\n<below>",
                text(0, 0, wide));
    }
}
