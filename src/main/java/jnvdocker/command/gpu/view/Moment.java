package jnvdocker.command.gpu.view;

import jnvdocker.words.InvalidValueException;
import jnvdocker.words.LocalZone;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import java.time.DateTimeException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.YearMonth;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A moment as people write it: {@code now}; a time span, {@code 7d}; a time of day, {@code 18:00};
 * or a day, by its date, {@code 2026-11-01}, or a word, {@code yesterday}, {@code mon}, with or
 * without a time of day. It is in the writer's time zone unless it names another.
 */
public final class Moment {
    private static final String DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
    private static final String TIME = "[Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,9})?)?";
    private static final Pattern DAY = Pattern.compile(DATE);
    private static final Pattern WITH_OFFSET =
            Pattern.compile(DATE + TIME + "([Zz]|[+-][0-9]{2}:[0-9]{2})");
    private static final Pattern BEFORE_TIME = Pattern.compile("(?: +|[Tt])(?=[0-9]{1,2}:)");
    private static final Pattern TIME_ALONE = Pattern.compile("[0-9]{1,2}:.*");

    /** One digit of the hour may be enough. */
    private static final DateTimeFormatter TIME_OF_DAY =
            new DateTimeFormatterBuilder()
                    .appendPattern("H:mm[:ss]")
                    .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true)
                    .toFormatter(Locale.ROOT);

    /** The least letters of a day of the week. */
    private static final int PREFIX = 3;

    private static final int WEEK = 7;
    private static final Span.Limits SPAN = new Span.Limits(Duration.ofMinutes(1), Span.LONGEST);

    /** The side of now on which a moment is: a word for a day is the nearest one there. */
    private enum Side {
        PAST(
                -1,
                "is no date",
                "write one as in 2026-11-01, 2026-11-01T09:00 or yesterday, or how long ago, as in"
                        + " 7d",
                "is not in the past",
                "take an earlier one"),
        COMING(
                1,
                "is no time",
                "write one as in now, 18:00, 'fri 18:00' or '2026-12-04 18:00', or how long from"
                        + " now, as in 2h",
                "is in the past",
                "take a later one");

        private final int sign;
        private final String unread;
        private final String forms;
        private final String wrong;
        private final String remedy;

        Side(int sign, String unread, String forms, String wrong, String remedy) {
            this.sign = sign;
            this.unread = unread;
            this.forms = forms;
            this.wrong = wrong;
            this.remedy = remedy;
        }

        boolean has(Instant moment, Instant now) {
            return this == PAST ? !moment.isAfter(now) : !moment.isBefore(now);
        }
    }

    /**
     * A day.
     *
     * @param period in days, with which it comes again; 0 for one that does not
     */
    private record Day(LocalDate date, int period) {}

    private Moment() {}

    /**
     * Reads one that is not to come. A time span ends now; a time of day or a day of the week is
     * the last one.
     *
     * @param timeZone the writer's variable TZ; empty for this host's zone
     * @throws InvalidValueException quoting the text and naming the valid forms
     */
    public static Instant past(String text, Instant now, Optional<String> timeZone) {
        return read(text, Side.PAST, now, timeZone);
    }

    /**
     * Reads one that is not in the past. A time span begins now; a time of day or a day of the week
     * is the next one.
     *
     * @param timeZone the writer's variable TZ; empty for this host's zone
     * @throws InvalidValueException quoting the text and naming the valid forms
     */
    public static Instant coming(String text, Instant now, Optional<String> timeZone) {
        return read(text, Side.COMING, now, timeZone);
    }

    private static Instant read(String text, Side side, Instant now, Optional<String> timeZone) {
        Instant moment;
        try {
            moment =
                    text.equalsIgnoreCase("now")
                            ? now
                            : WITH_OFFSET.matcher(text).matches()
                                    ? OffsetDateTime.parse(text).toInstant()
                                    : local(text, side, now, timeZone);
        } catch (DateTimeException e) {
            throw invalid(text, side.unread, side.forms);
        }
        if (!side.has(moment, now)) {
            throw invalid(text, side.wrong, side.remedy);
        }
        return moment;
    }

    private static InvalidValueException invalid(String text, String what, String remedy) {
        return new InvalidValueException(Quote.quoted(text) + " " + what, remedy);
    }

    private static Instant local(String text, Side side, Instant now, Optional<String> timeZone) {
        boolean isTimeAlone = TIME_ALONE.matcher(text).matches();
        String[] words = BEFORE_TIME.split(text, 2);
        if (words.length == 1 && !isTimeAlone && day(text, side, LocalDate.EPOCH).isEmpty()) {
            return now.plus(span(text, side).multipliedBy(side.sign));
        }
        LocalZone zone = zone(timeZone);
        LocalDate today = zone.local(now).toLocalDate();
        Day day =
                isTimeAlone
                        ? new Day(today, 1)
                        : day(words[0], side, today)
                                .orElseThrow(() -> new DateTimeException("no day"));
        LocalTime time =
                isTimeAlone || words.length > 1
                        ? LocalTime.parse(words[words.length - 1], TIME_OF_DAY)
                        : LocalTime.MIDNIGHT;
        Instant nearest = at(day.date().atTime(time), side, now, zone);
        LocalDate other = day.date().plusDays((long) side.sign * day.period());
        return side.has(nearest, now) ? nearest : at(other.atTime(time), side, now, zone);
    }

    /** Of the two in the hour that is repeated, the first that is on that side. */
    private static Instant at(LocalDateTime time, Side side, Instant now, LocalZone zone) {
        Instant first = zone.first(time);
        return side.has(first, now) ? first : zone.last(time);
    }

    /** A day by its date or by a word; empty for any other text. */
    private static Optional<Day> day(String text, Side side, LocalDate today) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "today" -> Optional.of(new Day(today, 0));
            case "yesterday" -> Optional.of(new Day(today.minusDays(1), 0));
            case "tomorrow" -> Optional.of(new Day(today.plusDays(1), 0));
            default ->
                    DAY.matcher(text).matches()
                            ? Optional.of(new Day(LocalDate.parse(text), 0))
                            : dayOfWeek(text).map(it -> new Day(nearest(it, side, today), WEEK));
        };
    }

    private static LocalDate nearest(DayOfWeek day, Side side, LocalDate today) {
        int ahead = (day.getValue() - today.getDayOfWeek().getValue()) * side.sign;
        return today.plusDays((long) side.sign * Math.floorMod(ahead, WEEK));
    }

    /** A day of the week by its name or the first three letters or more of it, in English. */
    private static Optional<DayOfWeek> dayOfWeek(String text) {
        String name = text.toUpperCase(Locale.ROOT);
        return Stream.of(DayOfWeek.values())
                .filter(day -> name.length() >= PREFIX && day.name().startsWith(name))
                .findFirst();
    }

    /** What has hyphens or blanks is meant as a date. */
    private static Duration span(String text, Side side) {
        if (text.contains("-") || text.isBlank()) {
            throw new DateTimeException("no span");
        }
        try {
            return Span.parse(text, SPAN);
        } catch (InvalidValueException e) {
            throw side == Side.PAST
                    ? new InvalidValueException(
                            e.refusal().followedBy(", or a date, as in 2026-11-01"))
                    : new DateTimeException("no span", e);
        }
    }

    /**
     * The beginning of a calendar month.
     *
     * @param text {@code 2026-11}, {@code this} or {@code last}
     * @param later that many months later
     * @throws InvalidValueException quoting the text and naming the valid form, also when the month
     *     itself has not begun
     */
    public static Instant month(String text, int later, Instant now, Optional<String> timeZone) {
        YearMonth present = YearMonth.from(zone(timeZone).local(now));
        YearMonth month;
        try {
            month =
                    switch (text) {
                        case "this" -> present;
                        case "last" -> present.minusMonths(1);
                        default -> YearMonth.parse(text);
                    };
        } catch (DateTimeException e) {
            throw invalid(text, "is no month", "write one as in 2026-11, this or last");
        }
        if (start(month, timeZone).isAfter(now)) {
            throw invalid(text, "has not begun", "take an earlier month");
        }
        return start(month.plusMonths(later), timeZone);
    }

    private static Instant start(YearMonth month, Optional<String> timeZone) {
        return zone(timeZone).first(month.atDay(1).atStartOfDay());
    }

    /**
     * @param name the variable TZ
     * @throws InvalidValueException when the zone is not known
     */
    private static LocalZone zone(Optional<String> name) {
        return name.map(text ->
                        LocalZone.parse(text)
                                .orElseThrow(() ->
                                        new InvalidValueException(
                                                "the time zone "
                                                        + Quote.quoted(text)
                                                        + " (TZ) is unknown here",
                                                "write the date with its offset, as in"
                                                        + " 2026-11-01T09:00+01:00")))
                .orElseGet(LocalZone::host);
    }
}
