package jnvdocker.words;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShellWordTest {
    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '"',
            value = {
                "--gpus=device=0, --gpus=device=0",
                "/home/a_b/c.py, /home/a_b/c.py",
                "\"\", ''",
                "echo in; exit 3, 'echo in; exit 3'",
                "$HOME, '$HOME'",
                "it's, 'it'\\''s'",
                "~, '~'"
            })
    void wordIsQuotedWhereAShellWouldNotTakeItAsItIs(String word, String typed) {
        assertEquals(typed, ShellWord.typed(word));
    }
}
