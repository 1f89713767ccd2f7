package jnvdocker.words;

import java.time.Duration;
import java.time.Instant;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How long something lasts, as people write it, {@code 90m}, {@code 12h}, {@code 7d}, and as they
 * take it in, {@code 5m}, {@code 1h15m}.
 */
public final class Span {
    /** More than anybody has a history of, and far from where a time would overflow. */
    public static final Duration LONGEST = Duration.ofDays(36_500);

    private static final Pattern FORM = Pattern.compile("([0-9]{1,9})([mhdw])");

    private Span() {}

    /**
     * @return between a minute and {@link #LONGEST}
     * @throws IllegalArgumentException quoting the text, and saying what would do
     */
    public static Duration parse(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw new IllegalArgumentException(
                    Quote.quoted(text)
                            + " is no length of time; write a number with m, h, d or w, as in 12h"
                            + " or 7d");
        }
        int number = Integer.parseInt(form.group(1));
        Duration span =
                switch (form.group(2)) {
                    case "m" -> Duration.ofMinutes(number);
                    case "h" -> Duration.ofHours(number);
                    case "d" -> Duration.ofDays(number);
                    default -> Duration.ofDays(7L * number);
                };
        if (!span.isPositive() || span.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    Quote.quoted(text)
                            + " is not between 1m and "
                            + LONGEST.toDays()
                            + "d; write another length of time");
        }
        return span;
    }

    /** In two units at most; nothing for less than nothing. */
    public static String text(Duration span) {
        if (span.isNegative()) {
            return "0s";
        }
        if (span.toDays() > 0) {
            return span.toDays() + "d";
        }
        if (span.toHours() > 0) {
            String minutes = span.toMinutesPart() > 0 ? span.toMinutesPart() + "m" : "";
            return span.toHours() + "h" + minutes;
        }
        return span.toMinutes() > 0 ? span.toMinutes() + "m" : span.toSeconds() + "s";
    }

    /** Between two moments; nothing when the clock was set back meanwhile. */
    public static String between(Instant from, Instant to) {
        return text(Duration.between(from, to));
    }
}
