package jnvdocker.words;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.Optional;

class RefusalTest {
    private static final Refusal FULL = new Refusal("the disk is full; and slow", "free some");

    @Test
    void isOneSentence() {
        assertEquals("the disk is full; and slow; free some", FULL.message());
        assertEquals("the disk is full; and slow", FULL.what());
        assertEquals(Optional.of("free some"), FULL.remedy());
    }

    @Test
    void sentenceThatSaysWhatToDoItselfHasNoRemedyBesides() {
        Refusal only = Refusal.of("only root may do that: sudo jnvdocker");
        assertEquals("only root may do that: sudo jnvdocker", only.message());
        assertEquals(Optional.empty(), only.remedy());
    }

    @Test
    void additionsComeFirstOrLast() {
        assertEquals(
                new Refusal("a.tar: the disk is full; and slow", "free some"),
                FULL.precededBy("a.tar: "));
        assertEquals(
                new Refusal("the disk is full; and slow", "free some (b was written)"),
                FULL.followedBy(" (b was written)"));
        assertEquals(Refusal.of("x: y"), Refusal.of("y").precededBy("x: "));
        assertEquals(Refusal.of("y (z)"), Refusal.of("y").followedBy(" (z)"));
        assertEquals(FULL, FULL.followedBy(""));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\n"})
    void nothingIsNoWordToSay(String nothing) {
        assertThrows(IllegalArgumentException.class, () -> Refusal.of(nothing));
        assertThrows(IllegalArgumentException.class, () -> new Refusal(nothing, "free some"));
        assertThrows(IllegalArgumentException.class, () -> new Refusal("it is full", nothing));
    }

    @Test
    void exceptionsHaveItAsAValueAndAsTheirMessage() {
        var refused = new RefusedException("the disk is full; and slow", "free some");
        assertEquals(FULL, refused.refusal());
        assertEquals(FULL.message(), refused.getMessage());
        var cause = new IOException("read");
        var failed = new FailedException("the disk is full; and slow", "free some", cause);
        assertEquals(FULL, failed.refusal());
        assertEquals(FULL.message(), failed.getMessage());
        assertEquals(cause, failed.getCause());
    }
}
