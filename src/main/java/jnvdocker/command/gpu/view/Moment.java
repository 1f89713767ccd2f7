package jnvdocker.command.gpu.view;

import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import java.time.DateTimeException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.Period;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.time.temporal.TemporalAdjuster;
import java.time.temporal.TemporalAdjusters;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A moment of the past as people write it: its age, {@code 7d}, a date, {@code 2026-11-01}, or a
 * day, {@code yesterday}, {@code mon}; the last two with or without a time of day, in the writer's
 * time zone unless it names another.
 */
public final class Moment {
    private static final String DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
    private static final String TIME = "T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,9})?)?";
    private static final Pattern DAY = Pattern.compile(DATE);
    private static final Pattern WITH_OFFSET = Pattern.compile(DATE + TIME + "(Z|[+-]..:..)");

    /** One digit of the hour may be enough. */
    private static final DateTimeFormatter TIME_OF_DAY =
            new DateTimeFormatterBuilder()
                    .appendPattern("H:mm[:ss]")
                    .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true)
                    .toFormatter(Locale.ROOT);

    /** The least letters of a day of the week. */
    private static final int PREFIX = 3;

    private static final Span.Limits AGO = new Span.Limits(Duration.ofMinutes(1), Span.LONGEST);

    private Moment() {}

    /**
     * @param timeZone the name of the writer's, as the variable TZ has it; empty for this host's
     * @throws IllegalArgumentException quoting the text and naming the valid forms
     */
    public static Instant parse(String text, Instant now, String timeZone) {
        String[] words = text.split("(?: +|T)(?=[0-9]{1,2}:)", 2);
        Instant moment;
        try {
            Optional<LocalDate> day = day(words[0], now, timeZone);
            if (day.isEmpty() && !text.contains("-")) {
                return now.minus(span(text));
            }
            moment =
                    day.isPresent() && !WITH_OFFSET.matcher(text).matches()
                            ? at(day.get(), words, timeZone)
                            : OffsetDateTime.parse(text).toInstant();
        } catch (DateTimeException e) {
            throw new IllegalArgumentException(
                    Quote.quoted(text)
                            + " is no date; write one as in 2026-11-01, 2026-11-01T09:00 or"
                            + " yesterday, or how long ago, as in 7d",
                    e);
        }
        if (moment.isAfter(now)) {
            throw new IllegalArgumentException(
                    Quote.quoted(text) + " is not in the past; take an earlier one");
        }
        return moment;
    }

    private static Instant at(LocalDate day, String[] words, String timeZone) {
        LocalTime time =
                words.length == 1 ? LocalTime.MIDNIGHT : LocalTime.parse(words[1], TIME_OF_DAY);
        return day.atTime(time).atZone(zone(timeZone)).toInstant();
    }

    /** A day by its date, or by a word: the last of that name, which may be today. */
    private static Optional<LocalDate> day(String text, Instant now, String timeZone) {
        if (DAY.matcher(text).matches()) {
            return Optional.of(LocalDate.parse(text));
        }
        Optional<TemporalAdjuster> fromToday =
                switch (text.toLowerCase(Locale.ROOT)) {
                    case "today" -> Optional.of(today -> today);
                    case "yesterday" -> Optional.of(today -> today.minus(Period.ofDays(1)));
                    default -> dayOfWeek(text).map(TemporalAdjusters::previousOrSame);
                };
        return fromToday.map(it -> now.atZone(zone(timeZone)).toLocalDate().with(it));
    }

    /** A day of the week by its name or the first three letters or more of it, in English. */
    public static Optional<DayOfWeek> dayOfWeek(String text) {
        String name = text.toUpperCase(Locale.ROOT);
        return Stream.of(DayOfWeek.values())
                .filter(day -> name.length() >= PREFIX && day.name().startsWith(name))
                .findFirst();
    }

    /**
     * The beginning of a calendar month.
     *
     * @param text {@code 2026-11}, {@code this} or {@code last}
     * @param later that many months later
     * @throws IllegalArgumentException quoting the text and naming the valid form, also when the
     *     month itself has not begun
     */
    public static Instant month(String text, int later, Instant now, String timeZone) {
        YearMonth present = YearMonth.from(now.atZone(zone(timeZone)));
        YearMonth month;
        try {
            month =
                    switch (text) {
                        case "this" -> present;
                        case "last" -> present.minusMonths(1);
                        default -> YearMonth.parse(text);
                    };
        } catch (DateTimeException e) {
            throw new IllegalArgumentException(
                    Quote.quoted(text) + " is no month; write one as in 2026-11, this or last", e);
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
