package jnvdocker.words;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

class SpanTest {
    private static final Span.Limits ANY = new Span.Limits(Duration.ZERO, Span.LONGEST);
    private static final Span.Limits MINUTES = new Span.Limits(Duration.ofMinutes(1), Span.LONGEST);

    @ParameterizedTest
    @CsvSource({
        "0s, PT0S",
        "90s, PT90S",
        "99999999s, PT99999999S",
        "1m, PT1M",
        "90m, PT90M",
        "12h, PT12H",
        "7d, PT168H",
        "007d, PT168H",
        "2w, PT336H",
        "36500d, PT876000H",
        "52560000m, PT876000H",
        "1d12h, PT36H",
        "1h0m5s, PT1H5S",
        "0w36500d, PT876000H",
        "2w1d3h4m5s, PT363H4M5S"
    })
    void aNumberOfEachUnitIsASpan(String text, Duration span) {
        assertEquals(span, Span.parse(text, ANY));
    }

    @ParameterizedTest
    @CsvSource({
        "PT0S, 0s",
        "PT90S, 1m30s",
        "PT12H, 12h",
        "PT36H, 1d12h",
        "PT336H, 14d",
        "PT876000H, 36500d",
        "PT25H0.9S, 1d1h"
    })
    void aSpanIsSpelledAsItIsRead(Duration span, String text) {
        assertEquals(text, Span.spelled(span));
        assertEquals(span.truncatedTo(ChronoUnit.SECONDS), Span.parse(text, ANY));
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
                "7y",
                "7ms",
                "1.5d",
                "1d 12h",
                "1d12",
                "12h1d",
                "1d1d",
                "1w1d1h1m1s1s",
                "7d\n",
                "\n7d",
                "٧d",
                "1234567890d",
                "99999999999999999999d",
                "P7D",
                "0x7d"
            })
    void anythingElseIsRefusedWithTheSpelling(String text) {
        String message = refusal(text);
        assertEquals(
                " is not a duration; write one as in 90s, 30m or 1d12h",
                message.substring(message.lastIndexOf("'") + 1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0m",
                "0d",
                "000000000w",
                "59s",
                "36500d1s",
                "36501d",
                "5215w",
                "999999999w",
                "999999999w999999999d999999999h999999999m999999999s",
                "876001h"
            })
    void aSpanIsBoundedByTheLimitsOfItsPlace(String text) {
        assertEquals(
                "'" + text + "' is not between 1m and 36500d; write another duration",
                refusal(text));
    }

    @Test
    void boundsBelongToIt() {
        var limits = new Span.Limits(Duration.ofSeconds(5), Duration.ofMinutes(90));
        assertEquals(Duration.ofSeconds(5), Span.parse("5s", limits));
        assertEquals(Duration.ofMinutes(90), Span.parse("1h30m", limits));
        assertEquals(
                "'4s' is not between 5s and 1h30m; write another duration", refusal("4s", limits));
        assertEquals(
                "'5401s' is not between 5s and 1h30m; write another duration",
                refusal("5401s", limits));
    }

    @Test
    void quotedTextIsShortAndHarmless() {
        assertEquals(
                "'\\u{1b}[2J' is not a duration; write one as in 90s, 30m or 1d12h",
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
        return refusal(text, MINUTES);
    }

    private static String refusal(String text, Span.Limits limits) {
        return assertThrows(IllegalArgumentException.class, () -> Span.parse(text, limits))
                .getMessage();
    }
}
