package jnvdocker.command.gpu.change;

import jnvdocker.command.gpu.view.Moment;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;

import java.time.DateTimeException;
import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Optional;

/**
 * A moment that is to come, as people write it: {@code now}, {@code 18:00}, {@code fri 18:00},
 * {@code tomorrow 9:00} or {@code 2026-12-04 18:00}, in the writer's time zone.
 */
final class ComingMoment {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("H:mm", Locale.ROOT);

    /** The registry's numbers hold no year with nine digits, which a date may have. */
    private static final int LAST_YEAR = 9999;

    private static final int WEEK = 7;

    private ComingMoment() {}

    /**
     * Reads one. A time or a day of the week that is past today is the next one.
     *
     * @param timeZone the name of the writer's, as the variable TZ has it; empty for this host's
     * @throws IllegalArgumentException quoting the text and naming the valid forms
     */
    static Instant parse(String text, Instant now, String timeZone) {
        String plain = text.strip().toLowerCase(Locale.ROOT);
        if (plain.equals("now")) {
            return now;
        }
        ZoneId zone = Moment.zone(timeZone);
        ZonedDateTime here = now.atZone(zone);
        String[] words = plain.split("(?: +|t)(?=[0-9]{1,2}:)", 2);
        try {
            LocalTime time = LocalTime.parse(words[words.length - 1], TIME);
            if (words.length == 1) {
                return next(here.toLocalDate(), time, 1, here).toInstant();
            }
            Optional<DayOfWeek> day = Moment.dayOfWeek(words[0]);
            LocalDate date = date(words[0], day, here.toLocalDate());
            ZonedDateTime at =
                    day.isPresent() ? next(date, time, WEEK, here) : at(date, time, here);
            if (at.getYear() > LAST_YEAR) {
                throw new DateTimeException("too late a year");
            }
            if (at.isBefore(here)) {
                throw new InvalidValueException(
                        Quote.quoted(text) + " is not to come", "write a later one");
            }
            return at.toInstant();
        } catch (DateTimeException e) {
            throw new InvalidValueException(
                    Quote.quoted(text) + " is no time",
                    "write one as in now, 18:00, 'fri 18:00' or '2026-12-04 18:00'");
        }
    }

    /** The time of that day, or of a later one when it is past. */
    private static ZonedDateTime next(LocalDate day, LocalTime time, int days, ZonedDateTime here) {
        ZonedDateTime at = at(day, time, here);
        return at.isBefore(here) ? at(day.plusDays(days), time, here) : at;
    }

    /** The time of a day: of the two in the hour that is repeated, the first that is to come. */
    private static ZonedDateTime at(LocalDate day, LocalTime time, ZonedDateTime here) {
        ZonedDateTime at = day.atTime(time).atZone(here.getZone());
        return at.isBefore(here) ? at.withLaterOffsetAtOverlap() : at;
    }

    private static LocalDate date(String text, Optional<DayOfWeek> day, LocalDate today) {
        if (day.isPresent()) {
            int ahead = Math.floorMod(day.get().getValue() - today.getDayOfWeek().getValue(), WEEK);
            return today.plusDays(ahead);
        }
        return switch (text) {
            case "today" -> today;
            case "tomorrow" -> today.plusDays(1);
            default -> LocalDate.parse(text);
        };
    }
}
