package jnvdocker.command;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AgeTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0s",
        "59, 59s",
        "60, 1m",
        "3599, 59m",
        "3600, 1h",
        "4500, 1h15m",
        "86399, 23h59m",
        "86400, 1d",
        "345599, 3d"
    })
    void twoUnitsAtMost(long seconds, String age) {
        assertEquals(age, Age.between(Samples.NOW.minusSeconds(seconds), Samples.NOW));
    }

    @Test
    void clockThatWasSetBackMakesNothingNegative() {
        assertEquals("0s", Age.between(Samples.NOW.plusSeconds(3600), Samples.NOW));
    }
}
