package jnvdocker.command.gpu.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

class MomentTest {
    private static final Instant NOW = Instant.parse("2026-11-21T18:30:00Z");
    private static final Optional<String> ZONE = Optional.of("Europe/Berlin");

    /** It is Friday, 2026-11-27, a quarter past ten in Berlin. */
    private static final Instant FRIDAY = Instant.parse("2026-11-27T09:15:00Z");

    @ParameterizedTest
    @CsvSource({
        "90m, 2026-11-21T17:00:00Z",
        "7d, 2026-11-14T18:30:00Z",
        "1w12h90s, 2026-11-14T06:28:30Z",
        "36500d, 1926-12-16T18:30:00Z",
        "2026-11-01, 2026-10-31T23:00:00Z",
        "2026-07-01, 2026-06-30T22:00:00Z",
        "2026-11-01T09:00, 2026-11-01T08:00:00Z",
        "2026-11-01T09:00:30, 2026-11-01T08:00:30Z",
        "2026-11-01T09:00:30.25Z, 2026-11-01T09:00:30.250Z",
        "2026-11-01T09:00:00-05:00, 2026-11-01T14:00:00Z",
        "2024-02-29, 2024-02-28T23:00:00Z",
        "2026-11-21T18:30:00Z, 2026-11-21T18:30:00Z",
        "2026-11-01 9:00, 2026-11-01T08:00:00Z",
        "today, 2026-11-20T23:00:00Z",
        "yesterday, 2026-11-19T23:00:00Z",
        "Yesterday 9:30, 2026-11-20T08:30:00Z",
        "mon, 2026-11-15T23:00:00Z",
        "saturday 7:00, 2026-11-21T06:00:00Z",
        "SAT 7:00, 2026-11-21T06:00:00Z",
        "now, 2026-11-21T18:30:00Z",
        "9:00, 2026-11-21T08:00:00Z",
        "23:00, 2026-11-20T22:00:00Z",
        "sat 23:00, 2026-11-14T22:00:00Z"
    })
    void aMomentIsHowLongAgoOrADate(String text, Instant moment) {
        assertEquals(moment, Moment.past(text, NOW, ZONE));
    }

    @Test
    void monthIsOneThatHasBegun() {
        assertEquals(Instant.parse("2026-10-31T23:00:00Z"), Moment.month("2026-11", 0, NOW, ZONE));
        assertEquals(Instant.parse("2026-11-30T23:00:00Z"), Moment.month("2026-11", 1, NOW, ZONE));
        assertEquals(Instant.parse("2026-09-30T22:00:00Z"), Moment.month("last", 0, NOW, ZONE));
        assertEquals(Instant.parse("2026-10-31T23:00:00Z"), Moment.month("this", 0, NOW, ZONE));
        for (String month : List.of("2026-13", "2026-12", "november")) {
            assertThrows(
                    IllegalArgumentException.class, () -> Moment.month(month, 0, NOW, ZONE), month);
        }
    }

    /** The clocks are put forward past it: the time after that is meant. */
    @Test
    void aTimeThatWasNotIsTheOneAfterIt() {
        assertEquals(
                Instant.parse("2026-03-29T01:30:00Z"), Moment.past("2026-03-29T02:30", NOW, ZONE));
    }

    /** As the variable TZ has it; one that is not known is not taken for another. */
    @Test
    void timeZoneIsTheWriters() {
        Instant midnight = Instant.parse("2026-11-01T05:00:00Z");
        for (String zone : List.of("Etc/GMT+5", "EST5", "UTC+5", "<-05>5")) {
            assertEquals(midnight, Moment.past("2026-11-01", NOW, Optional.of(zone)), zone);
        }
        for (String zone : List.of(":America/New_York", "/usr/share/zoneinfo/America/New_York")) {
            assertEquals(
                    midnight.plusSeconds(86_400),
                    Moment.past("2026-11-02", NOW, Optional.of(zone)),
                    zone);
        }
        String summer = "CET-1CEST,M3.5.0,M10.5.0/3";
        assertEquals(midnight, Moment.past("2026-11-01 6:00", NOW, Optional.of(summer)));
        assertEquals(
                Instant.parse("2026-07-01T04:00:00Z"),
                Moment.past("2026-07-01 6:00", NOW, Optional.of(summer)));
        assertUnknown("Mars/Olympus");
        assertUnknown("-05:00");
        assertUnknown("CET-1CEST,M13.1.0,M1.1.0");
    }

    private static void assertUnknown(String zone) {
        String refusal =
                assertThrows(
                                IllegalArgumentException.class,
                                () -> Moment.past("2026-11-01", NOW, Optional.of(zone)))
                        .getMessage();
        assertTrue(refusal.contains("'" + zone + "' (TZ) is unknown here; "), refusal);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "9:00 mon",
                "2026-13-01",
                "2026-02-29",
                "2026-11-31",
                "26-11-01",
                "2026-11-1",
                "2026-11-01 9",
                "2026-11-01T25:00",
                "2026-11-01T09",
                "2026-11-01T09:00+99:99",
                "-999999999-01-01",
                "+999999999-01-01",
                "2026-11-01\n",
                "-7d",
                "--user",
                "\u0660\u0660\u0660\u0660-\u0660\u0661-\u0660\u0661"
            })
    void whatIsNoDateIsRefusedWithTheSpelling(String text) {
        String message = refusal(text);
        assertEquals(
                " is no date; write one as in 2026-11-01, 2026-11-01T09:00 or yesterday, or how"
                        + " long ago, as in 7d",
                message.substring(message.lastIndexOf("'") + 1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"7", "0d", "59s", "99999d", "7d 12h"})
    void whatIsNoLengthOfTimeIsRefused(String text) {
        assertTrue(
                refusal(text).contains("; write one as in 90s, 30m or 1d12h")
                        || refusal(text).contains(" is not between 1m and 36500d; write another"),
                refusal(text));
        assertTrue(refusal(text).endsWith(", or a date, as in 2026-11-01"), refusal(text));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "tomorrow",
                "2026-11-22",
                "2026-11-21T18:31:00Z",
                "9999-12-31T23:59:59.999Z"
            })
    void theFutureIsRefused(String text) {
        assertEquals("'" + text + "' is not in the past; take an earlier one", refusal(text));
    }

    @ParameterizedTest
    @CsvSource({
        "now, 2026-11-27T09:15:00Z",
        "2h, 2026-11-27T11:15:00Z",
        "18:00, 2026-11-27T17:00:00Z",
        "9:00, 2026-11-28T08:00:00Z",
        "fri, 2026-12-03T23:00:00Z",
        "fri 18:00, 2026-11-27T17:00:00Z",
        "fri 9:00, 2026-12-04T08:00:00Z",
        "Monday 08:30, 2026-11-30T07:30:00Z",
        "thu 10:00, 2026-12-03T09:00:00Z",
        "tomorrow, 2026-11-27T23:00:00Z",
        "tomorrow 9:00, 2026-11-28T08:00:00Z",
        "today 23:59, 2026-11-27T22:59:00Z",
        "2026-12-04, 2026-12-03T23:00:00Z",
        "2026-12-04 18:00, 2026-12-04T17:00:00Z",
        "2026-12-04T18:00, 2026-12-04T17:00:00Z",
        "2026-12-04T18:00Z, 2026-12-04T18:00:00Z",
        "2027-07-01 00:00, 2027-06-30T22:00:00Z"
    })
    void comingOneIsTheNextOfThatName(String text, Instant moment) {
        assertEquals(moment, Moment.coming(text, FRIDAY, ZONE));
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
    void comingOneIsTheNextOnDaysOnWhichClocksAreSet(Instant now, String text, Instant moment) {
        assertEquals(moment, Moment.coming(text, now, ZONE));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "18",
                "25:00",
                "fr 18:00",
                "2026-13-01 18:00",
                "+10000-01-01 18:00",
                "+999999999-12-31 18:00",
                "in 2h",
                "18:00 fri"
            })
    void comingOneIsRefusedWithTheForms(String text) {
        String message =
                assertThrows(
                                IllegalArgumentException.class,
                                () -> Moment.coming(text, FRIDAY, ZONE))
                        .getMessage();
        assertEquals(
                "'"
                        + text
                        + "' is no time; write one as in now, 18:00, 'fri 18:00' or '2026-12-04"
                        + " 18:00', or how long from now, as in 2h",
                message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"2026-11-27 10:14", "today 9:00", "yesterday", "2025-01-01 00:00"})
    void thePastIsRefusedForAComingOne(String text) {
        assertEquals(
                "'" + text + "' is in the past; take a later one",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> Moment.coming(text, FRIDAY, ZONE))
                        .getMessage());
    }

    private static String refusal(String text) {
        return assertThrows(IllegalArgumentException.class, () -> Moment.past(text, NOW, ZONE))
                .getMessage();
    }
}
