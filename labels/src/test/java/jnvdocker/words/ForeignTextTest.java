package jnvdocker.words;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

import java.util.List;

class ForeignTextTest {
    @Test
    void usualNamesStayAsTheyAre() {
        for (String name : List.of("", "train-7", "registry:5000/team/cuda:12.4", "Jürgen Ø 会")) {
            assertSame(name, ForeignText.name(name));
        }
        String longest = "n".repeat(ForeignText.NAME);
        assertSame(longest, ForeignText.name(longest));
    }

    @Test
    void longNamesEndVisibly() {
        assertEquals("n".repeat(254) + "…", ForeignText.name("n".repeat(900_000)));
        assertEquals("n".repeat(254) + "…", ForeignText.name("n".repeat(256)));
    }

    @Test
    void whatATerminalActsUponIsSpelledOut() {
        assertEquals("a\\u{1b}[2Jb\\u{a}c", ForeignText.name("a\u001b[2Jb\nc"));
        assertEquals(254, ForeignText.name("\u001b".repeat(900_000)).lastIndexOf('…'));
    }

    /** A row that is read again has the text that was written. */
    @Test
    void aBoundTextStaysAsItIs() {
        for (String text :
                List.of("\u001b".repeat(300), "n".repeat(300), "\ud83d\ude00".repeat(300))) {
            String once = ForeignText.name(text);
            assertEquals(once, ForeignText.name(once));
        }
    }

    /** The first half of a character is no character. */
    @Test
    void charactersOfTwoPartsStayWhole() {
        String name = "n".repeat(253) + "\ud83d\ude00" + "n".repeat(9);
        assertEquals("n".repeat(253) + "…", ForeignText.name(name));
        assertEquals("n", ForeignText.beginning("n\ud83d\ude00", 2));
    }
}
