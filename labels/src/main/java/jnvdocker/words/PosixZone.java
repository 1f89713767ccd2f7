package jnvdocker.words;

import java.time.DateTimeException;
import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.Year;
import java.time.ZoneOffset;
import java.time.temporal.TemporalAdjusters;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the rules of a time zone as POSIX writes them, {@code CET-1CEST,M3.5.0,M10.5.0/3}. */
final class PosixZone {
    private static final String NAME = "([A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)";
    private static final String TIME = "[+-]?[0-9]{1,3}(?::[0-9]{1,2}(?::[0-9]{1,2})?)?";
    private static final String DAY = "(?:J?[0-9]{1,3}|M[0-9]{1,2}\\.[0-9]\\.[0-9])";
    private static final String CHANGE = "(" + DAY + "(?:/" + TIME + ")?)";
    private static final Pattern ZONE =
            Pattern.compile(
                    NAME
                            + ("(" + TIME + ")")
                            + ("(?:" + NAME + "(" + TIME + ")?")
                            + ("(?:," + CHANGE + "," + CHANGE + ")?)?"));

    /** Those of the United States since 2007, as libc has them for a zone that names none. */
    private static final String DEFAULT_START = "M3.2.0";

    private static final String DEFAULT_END = "M11.1.0";

    /** Nobody names a time outside of these years. */
    private static final int FIRST_YEAR = 1800;

    private static final int LAST_YEAR = 2300;
    private static final int HOUR = 3600;
    private static final int MINUTE = 60;
    private static final int CHANGES_AT = 2 * HOUR;
    private static final int LAST_WEEK = 5;
    private static final int LAST_DAY = 365;
    private static final int FEBRUARY_28 = 59;

    /** The start or the end of summer time: a day, and a time on it. */
    private record Change(String day, int time) {
        static Change parse(String text) {
            String[] parts = text.split("/", 2);
            return new Change(parts[0], parts.length > 1 ? seconds(parts[1]) : CHANGES_AT);
        }

        LocalDateTime in(int year) {
            return date(year).atStartOfDay().plusSeconds(time);
        }

        private static int number(String text, int least) {
            int number = Integer.parseInt(text);
            if (number < least || number > LAST_DAY) {
                throw new DateTimeException("no day: " + text);
            }
            return number;
        }

        private LocalDate date(int year) {
            LocalDate first = LocalDate.of(year, 1, 1);
            if (day.startsWith("J")) {
                int number = number(day.substring(1), 1);
                boolean leaps = Year.isLeap(year) && number > FEBRUARY_28;
                return first.plusDays(leaps ? number : number - 1L);
            }
            if (!day.startsWith("M")) {
                return first.plusDays(number(day, 0));
            }
            String[] numbers = day.substring(1).split("\\.");
            int week = Integer.parseInt(numbers[1]);
            int weekday = Integer.parseInt(numbers[2]);
            if (week < 1 || week > LAST_WEEK || weekday > 6) {
                throw new DateTimeException("no day: " + day);
            }
            return LocalDate.of(year, Integer.parseInt(numbers[0]), 1)
                    .with(
                            TemporalAdjusters.dayOfWeekInMonth(
                                    week == LAST_WEEK ? -1 : week,
                                    weekday == 0 ? DayOfWeek.SUNDAY : DayOfWeek.of(weekday)));
        }
    }

    private PosixZone() {}

    static Optional<LocalZone> parse(String text) {
        Matcher zone = ZONE.matcher(text);
        if (!zone.matches()) {
            return Optional.empty();
        }
        try {
            return Optional.of(zone(zone));
        } catch (DateTimeException e) {
            return Optional.empty();
        }
    }

    private static LocalZone zone(Matcher zone) {
        String name = name(zone.group(1));
        int west = seconds(zone.group(2));
        ZoneOffset usual = ZoneOffset.ofTotalSeconds(-west);
        if (zone.group(3) == null) {
            return new LocalZone(ZoneRules.of(usual), _ -> name);
        }
        String summerName = name(zone.group(3));
        ZoneOffset summer =
                ZoneOffset.ofTotalSeconds(
                        zone.group(4) == null ? HOUR - west : -seconds(zone.group(4)));
        boolean named = zone.group(5) != null;
        Change start = Change.parse(named ? zone.group(5) : DEFAULT_START);
        Change end = Change.parse(named ? zone.group(6) : DEFAULT_END);
        ZoneRules rules = rules(usual, summer, start, end);
        return new LocalZone(
                rules, instant -> rules.getOffset(instant).equals(summer) ? summerName : name);
    }

    /** A zone may have summer time all year: one ends as the next begins, and nothing changes. */
    private static ZoneRules rules(ZoneOffset usual, ZoneOffset summer, Change start, Change end) {
        List<ZoneOffsetTransition> transitions = new ArrayList<>();
        ZoneOffset now = usual;
        for (int year = FIRST_YEAR; year <= LAST_YEAR; year++) {
            Instant starts = start.in(year).toInstant(usual);
            Instant ends = end.in(year).toInstant(summer);
            boolean isNorth = starts.isBefore(ends);
            for (Instant at : isNorth ? List.of(starts, ends) : List.of(ends, starts)) {
                ZoneOffset next = at.equals(starts) ? summer : usual;
                boolean lasts =
                        next.equals(usual)
                                && start.in(year + 1).toInstant(usual).compareTo(at) <= 0;
                if (!next.equals(now) && !lasts) {
                    transitions.add(
                            ZoneOffsetTransition.of(
                                    LocalDateTime.ofEpochSecond(at.getEpochSecond(), 0, now),
                                    now,
                                    next));
                    now = next;
                }
            }
        }
        return ZoneRules.of(usual, usual, List.of(), transitions, List.of());
    }

    private static String name(String text) {
        return text.startsWith("<") ? text.substring(1, text.length() - 1) : text;
    }

    private static int seconds(String time) {
        boolean isNegative = time.startsWith("-");
        String[] parts = time.replaceFirst("^[+-]", "").split(":");
        int seconds = Integer.parseInt(parts[0]) * HOUR;
        seconds += parts.length > 1 ? Integer.parseInt(parts[1]) * MINUTE : 0;
        seconds += parts.length > 2 ? Integer.parseInt(parts[2]) : 0;
        return isNegative ? -seconds : seconds;
    }
}
