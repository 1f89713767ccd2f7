package jnvdocker.words;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.List;

class TypoTest {
    private static final List<String> WORDS = List.of("train", "ls", "refusals", "a", "train-7");

    @Test
    void oneSlipIsForgiven() {
        for (String typed : List.of("trian", "rtain", "trani", "rain", "trin", "trai", "trrain")) {
            assertEquals(List.of("train"), Typo.of(typed, WORDS), typed);
        }
        assertEquals(List.of("train", "train-7"), Typo.of("train-", WORDS));
        assertEquals(List.of("train"), Typo.of("strain", WORDS));
        assertEquals(List.of("train"), Typo.of("grain", WORDS));
        assertEquals(List.of("ls"), Typo.of("sl", WORDS));
        assertEquals(List.of("ls"), Typo.of("lss", WORDS));
        assertEquals(List.of("a"), Typo.of("", WORDS));
    }

    @Test
    void twoSlipsAndTheWordItselfAreNone() {
        for (String typed : List.of("train", "tarni", "tr", "trainee", "niart", "refus", "")) {
            assertEquals(List.of(), Typo.of(typed, List.of("train", "refusals")), typed);
        }
    }
}
