package jnvdocker.words;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.time.Instant;

class SpanTest {
    @ParameterizedTest
    @CsvSource({
        "1m, PT1M",
        "90m, PT90M",
        "12h, PT12H",
        "7d, PT168H",
        "007d, PT168H",
        "2w, PT336H",
        "36500d, PT876000H",
        "52560000m, PT876000H"
    })
    void aNumberAndAUnitIsASpan(String text, Duration span) {
        assertEquals(span, Span.parse(text));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "7",
                "d",
                "d7",
                "7 d",
                " 7d",
                "7d ",
                "-7d",
                "+7d",
                "7D",
                "7s",
                "7y",
                "1.5d",
                "1d12h",
                "7d\n",
                "٧d",
                "1234567890d",
                "99999999999999999999d",
                "P7D",
                "0x7d"
            })
    void anythingElseIsRefusedWithTheSpelling(String text) {
        String message = refusal(text);
        assertEquals(
                " is no length of time; write a number with m, h, d or w, as in 12h or 7d",
                message.substring(message.lastIndexOf("'") + 1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0m", "0d", "000000000w", "36501d", "5215w", "999999999w", "876001h"})
    void aSpanIsBounded(String text) {
        assertEquals(
                "'" + text + "' is not between 1m and 36500d; write another length of time",
                refusal(text));
    }

    @Test
    void whatIsQuotedIsShortAndHarmless() {
        assertEquals(
                "'\\u{1b}[2J' is no length of time; write a number with m, h, d or w, as in 12h or"
                        + " 7d",
                refusal("\u001b[2J"));
        assertEquals(true, refusal("7".repeat(100_000) + "d").length() < 300);
    }

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
    void textHasTwoUnitsAtMost(long seconds, String text) {
        Instant now = Instant.parse("2026-03-05T12:00:00Z");
        assertEquals(text, Span.text(Duration.ofSeconds(seconds)));
        assertEquals(text, Span.between(now.minusSeconds(seconds), now));
    }

    @Test
    void clockThatWasSetBackMakesNothingNegative() {
        assertEquals("0s", Span.text(Duration.ofHours(-1)));
    }

    private static String refusal(String text) {
        return assertThrows(IllegalArgumentException.class, () -> Span.parse(text)).getMessage();
    }
}
