package jnvdocker.words;

import java.time.Duration;
import java.time.Instant;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How long something lasts, as people write it, {@code 90s}, {@code 30m}, {@code 1d12h}, {@code
 * 2w}, and as they take it in, {@code 5m}, {@code 1h15m}.
 */
public final class Span {
    /** Longer than any history, and far from the overflow of a time. */
    public static final Duration LONGEST = Duration.ofDays(36_500);

    /** Each unit once at most, the longest first. Nine digits of each cannot overflow. */
    private static final Pattern FORM =
            Pattern.compile(
                    "(?=.)(?:([0-9]{1,9})w)?(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?"
                            + "(?:([0-9]{1,9})s)?");

    /** The durations that make sense in one place. */
    public record Limits(Duration least, Duration most) {
        private boolean hold(Duration span) {
            return span.compareTo(least) >= 0 && span.compareTo(most) <= 0;
        }
    }

    private Span() {}

    /**
     * @throws InvalidValueException quoting the text, and saying what would do
     */
    public static Duration parse(String text, Limits limits) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw new InvalidValueException(
                    Quote.quoted(text) + " is not a duration", "write one as in 90s, 30m or 1d12h");
        }
        Duration span =
                Duration.ofDays(7 * number(form, 1) + number(form, 2))
                        .plusHours(number(form, 3))
                        .plusMinutes(number(form, 4))
                        .plusSeconds(number(form, 5));
        if (!limits.hold(span)) {
            throw new InvalidValueException(
                    Quote.quoted(text)
                            + " is not between "
                            + spelled(limits.least())
                            + " and "
                            + spelled(limits.most()),
                    "write another duration");
        }
        return span;
    }

    private static long number(Matcher form, int unit) {
        return form.group(unit) == null ? 0 : Long.parseLong(form.group(unit));
    }

    /** As {@link #parse} reads it, to the second: {@code 1d12h}. */
    public static String spelled(Duration span) {
        String text =
                part(span.toDays(), "d")
                        + part(span.toHoursPart(), "h")
                        + part(span.toMinutesPart(), "m")
                        + part(span.toSecondsPart(), "s");
        return text.isEmpty() ? "0s" : text;
    }

    private static String part(long number, String unit) {
        return number > 0 ? number + unit : "";
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
