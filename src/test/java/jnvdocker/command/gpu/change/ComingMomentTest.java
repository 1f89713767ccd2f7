package jnvdocker.command.gpu.change;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Instant;

/** It is Friday, 2026-11-27, a quarter past ten in Berlin. */
class ComingMomentTest {
    private static final Instant NOW = Instant.parse("2026-11-27T09:15:00Z");

    @ParameterizedTest
    @CsvSource({
        "now, 2026-11-27T09:15:00Z",
        "18:00, 2026-11-27T17:00:00Z",
        "9:00, 2026-11-28T08:00:00Z",
        "fri 18:00, 2026-11-27T17:00:00Z",
        "fri 9:00, 2026-12-04T08:00:00Z",
        "Monday 08:30, 2026-11-30T07:30:00Z",
        "thu 10:00, 2026-12-03T09:00:00Z",
        "tomorrow 9:00, 2026-11-28T08:00:00Z",
        "today 23:59, 2026-11-27T22:59:00Z",
        "2026-12-04 18:00, 2026-12-04T17:00:00Z",
        "2026-12-04T18:00, 2026-12-04T17:00:00Z",
        "2027-07-01 00:00, 2027-06-30T22:00:00Z"
    })
    void isInTheWritersTimeZone(String text, Instant moment) {
        assertEquals(moment, ComingMoment.parse(text, NOW, "Europe/Berlin"));
    }

    /** Clocks are set on from 2:00 to 3:00 in March, and back from 3:00 to 2:00 in October. */
    @ParameterizedTest
    @CsvSource({
        "2027-03-28T08:00:00Z, 2:30, 2027-03-29T00:30:00Z",
        "2027-03-28T08:00:00Z, sun 2:30, 2027-04-04T00:30:00Z",
        "2027-03-27T08:00:00Z, 2:30, 2027-03-28T01:30:00Z",
        "2026-10-25T00:15:00Z, 2:30, 2026-10-25T00:30:00Z",
        "2026-10-25T00:45:00Z, 2:30, 2026-10-25T01:30:00Z",
        "2026-10-25T00:45:00Z, today 2:30, 2026-10-25T01:30:00Z",
        "2026-10-25T01:45:00Z, 2:30, 2026-10-26T01:30:00Z",
        "2026-10-25T01:45:00Z, sun 2:30, 2026-11-01T01:30:00Z"
    })
    void isTheNextOneOnDaysOnWhichClocksAreSet(Instant now, String text, Instant moment) {
        assertEquals(moment, ComingMoment.parse(text, now, "Europe/Berlin"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "18",
                "25:00",
                "fr 18:00",
                "fri",
                "2026-13-01 18:00",
                "+10000-01-01 18:00",
                "+999999999-12-31 18:00",
                "in 2h",
                "18:00 fri"
            })
    void otherTextIsRefusedWithTheForms(String text) {
        String message =
                assertThrows(
                                IllegalArgumentException.class,
                                () -> ComingMoment.parse(text, NOW, "Europe/Berlin"))
                        .getMessage();
        assertTrue(message.contains("fri 18:00"), message);
    }

    @Test
    void pastIsRefused() {
        for (String text : new String[] {"2026-11-27 10:14", "today 9:00", "2025-01-01 00:00"}) {
            String message =
                    assertThrows(
                                    IllegalArgumentException.class,
                                    () -> ComingMoment.parse(text, NOW, "Europe/Berlin"))
                            .getMessage();
            assertTrue(message.contains("is not to come"), message);
        }
    }
}
