package jnvdocker.command.gpu.view;

import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.YearMonth;
import java.time.ZoneId;
import java.util.regex.Pattern;

/**
 * A moment of the past as people write it: its age, {@code 7d}, or a date, {@code 2026-11-01}, with
 * or without a time of day, in the writer's time zone unless it names another.
 */
public final class Moment {
    private static final String DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
    private static final String TIME = "T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,9})?)?";
    private static final Pattern DAY = Pattern.compile(DATE);
    private static final Pattern LOCAL = Pattern.compile(DATE + TIME);
    private static final Pattern WITH_OFFSET = Pattern.compile(DATE + TIME + "(Z|[+-]..:..)");

    private static final Span.Limits AGO = new Span.Limits(Duration.ofMinutes(1), Span.LONGEST);

    private Moment() {}

    /**
     * @param timeZone the name of the writer's, as the variable TZ has it; empty for this host's
     * @throws IllegalArgumentException quoting the text and naming the valid forms
     */
    public static Instant parse(String text, Instant now, String timeZone) {
        if (!text.contains("-")) {
            return now.minus(span(text));
        }
        Instant moment;
        try {
            moment = date(text, timeZone);
        } catch (DateTimeException e) {
            throw new IllegalArgumentException(
                    Quote.quoted(text)
                            + " is no date; write one as in 2026-11-01 or 2026-11-01T09:00, or how"
                            + " long ago, as in 7d",
                    e);
        }
        if (moment.isAfter(now)) {
            throw new IllegalArgumentException(
                    Quote.quoted(text) + " is not in the past; take an earlier one");
        }
        return moment;
    }

    /**
     * The beginning of a calendar month.
     *
     * @param text {@code 2026-11}
     * @param later that many months later
     * @throws IllegalArgumentException quoting the text and naming the valid form, also when the
     *     month itself has not begun
     */
    public static Instant month(String text, int later, Instant now, String timeZone) {
        YearMonth month;
        try {
            month = YearMonth.parse(text);
        } catch (DateTimeException e) {
            throw new IllegalArgumentException(
                    Quote.quoted(text) + " is no month; write one as in 2026-11", e);
        }
        if (start(month, timeZone).isAfter(now)) {
            throw new IllegalArgumentException(
                    Quote.quoted(text) + " has not begun; take an earlier month");
        }
        return start(month.plusMonths(later), timeZone);
    }

    private static Instant start(YearMonth month, String timeZone) {
        return month.atDay(1).atStartOfDay(zone(timeZone)).toInstant();
    }

    private static Duration span(String text) {
        try {
            return Span.parse(text, AGO);
        } catch (InvalidValueException e) {
            throw new InvalidValueException(
                    e.refusal().followedBy(", or a date, as in 2026-11-01"));
        }
    }

    private static Instant date(String text, String timeZone) {
        if (DAY.matcher(text).matches()) {
            return LocalDate.parse(text).atStartOfDay(zone(timeZone)).toInstant();
        }
        if (LOCAL.matcher(text).matches()) {
            return LocalDateTime.parse(text).atZone(zone(timeZone)).toInstant();
        }
        if (WITH_OFFSET.matcher(text).matches()) {
            return OffsetDateTime.parse(text).toInstant();
        }
        throw new DateTimeException("neither a date nor one with a time");
    }

    /**
     * @param name as the variable TZ has it; empty for this host's
     * @throws IllegalArgumentException when it is not known
     */
    public static ZoneId zone(String name) {
        String plain = name.startsWith(":") ? name.substring(1) : name;
        try {
            return plain.isEmpty() ? ZoneId.systemDefault() : ZoneId.of(plain);
        } catch (DateTimeException e) {
            throw new IllegalArgumentException(
                    "the time zone "
                            + Quote.quoted(name)
                            + " (TZ) is unknown here; write the date with its offset, as in"
                            + " 2026-11-01T09:00+01:00",
                    e);
        }
    }
}
