package jnvdocker.words;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AsciiTest {
    @ParameterizedTest
    @ValueSource(strings = {"C", "POSIX", "", "de_DE", "de_DE.ISO-8859-1", "de_DE@euro", "UTF-16"})
    void whereALocaleDoesNotSayThatItIsUtf8NothingElseCanBeRead(String locale) {
        assertTrue(Ascii.isAll(locale));
    }

    @ParameterizedTest
    @ValueSource(strings = {"C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro", "UTF-8"})
    void whereItSaysSoAllCan(String locale) {
        assertFalse(Ascii.isAll(locale));
    }

    @Test
    void otherCharactersAreSpelledOut() {
        assertEquals("plain\n\u001b[32m~", Ascii.of("plain\n\u001b[32m~"));
        assertEquals("NVIDIA A...", Ascii.of("NVIDIA A…"));
        assertEquals("L\\u{fc}fter \\u{1f600}", Ascii.of("Lüfter \ud83d\ude00"));
    }
}
