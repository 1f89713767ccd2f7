package jnvdocker.words;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** The program date of this machine knows how libc reads the variable TZ. */
class LocalZoneTest {
    private static final DateTimeFormatter CLOCK =
            DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss", Locale.ROOT);

    /** Each day of three years, at changing hours, and the hours of the days of most changes. */
    private static final List<Long> INSTANTS =
            LongStream.concat(
                            LongStream.range(0, 3 * 365).map(day -> 1_767_225_600 + day * 89_000),
                            LongStream.range(0, 4 * 24 * 4)
                                    .map(quarter ->
                                            List.of(
                                                                    1_772_928_000L,
                                                                    1_774_742_400L,
                                                                    1_792_886_400L,
                                                                    1_793_491_200L)
                                                            .get((int) quarter / 96)
                                                    + quarter % 96 * 900))
                    .boxed()
                    .toList();

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                ":/etc/localtime",
                "/etc/localtime",
                "UTC",
                "UTC0",
                "UTC+3",
                "GMT-3",
                "EST5",
                "EST5EDT",
                "EST+5EDT+4,M3.2.0,M11.1.0",
                "CET-1CEST,M3.5.0,M10.5.0/3",
                "<+03>-3",
                "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
                "NZST-12NZDT,M9.5.0,M4.1.0/3",
                "AEST-10AEDT,J274,J95/3",
                "ABC-5:30",
                "ABC-05:45:30DEF-6:15,59/1:30,300/26",
                "LHST-10:30LHDT-11,M10.1.0,M4.1.0"
            })
    void clocksShowWhatDateShows(String tz) throws Exception {
        LocalZone zone = LocalZone.parse(tz).orElseThrow();
        List<String> ours =
                INSTANTS.stream()
                        .map(Instant::ofEpochSecond)
                        .map(instant -> CLOCK.format(zone.local(instant)))
                        .toList();
        assertEquals(String.join("\n", date(tz, "%F %T")), String.join("\n", ours));
    }

    /** Where the host's clocks show another time, the zone has the name that libc gives it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "EST5EDT",
                "CET-1CEST,M3.5.0,M10.5.0/3",
                "<+03>-3",
                "NZST-12NZDT,M9.5.0,M4.1.0/3"
            })
    void zonesHaveTheNamesOfDate(String tz) throws Exception {
        LocalZone zone = LocalZone.parse(tz).orElseThrow();
        List<String> theirs = date(tz, "%F %T %Z");
        for (int i = 0; i < INSTANTS.size(); i++) {
            String shown = zone.shown(CLOCK, Instant.ofEpochSecond(INSTANTS.get(i)));
            assertTrue(theirs.get(i).equals(shown) || theirs.get(i).startsWith(shown + " "), shown);
        }
    }

    private static List<String> date(String tz, String format) throws Exception {
        ProcessBuilder date = new ProcessBuilder("date", "-f", "-", "+" + format);
        date.environment().put("TZ", tz);
        date.redirectErrorStream(true);
        Process process = date.start();
        try (var in = process.getOutputStream()) {
            String lines = INSTANTS.stream().map(it -> "@" + it).collect(Collectors.joining("\n"));
            in.write((lines + "\n").getBytes(StandardCharsets.US_ASCII));
        }
        try (var out = process.inputReader()) {
            return out.readAllLines();
        }
    }

    /**
     * POSIX leaves it to libc when summer time is. Where tzdata has a file posixrules, glibc shifts
     * its changes by the distance of the two zones, in the wrong direction.
     */
    @ParameterizedTest
    @ValueSource(strings = {"CET-1CEST", "EST+5EDT+4", "NZST-12NZDT"})
    void summerIsThatOfTheUnitedStatesWhereNoneIsNamed(String tz) throws Exception {
        LocalZone zone = LocalZone.parse(tz).orElseThrow();
        List<String> theirs = date(tz + ",M3.2.0,M11.1.0", "%F %T");
        for (int i = 0; i < INSTANTS.size(); i++) {
            Instant instant = Instant.ofEpochSecond(INSTANTS.get(i));
            assertEquals(theirs.get(i), CLOCK.format(zone.local(instant)));
        }
    }

    @Test
    void aTimeThatIsRepeatedIsTwoMoments() {
        LocalZone zone = LocalZone.parse("CET-1CEST,M3.5.0,M10.5.0/3").orElseThrow();
        LocalDateTime twice = LocalDateTime.parse("2026-10-25T02:30");
        assertEquals(Instant.parse("2026-10-25T00:30:00Z"), zone.first(twice));
        assertEquals(Instant.parse("2026-10-25T01:30:00Z"), zone.last(twice));
        LocalDateTime never = LocalDateTime.parse("2026-03-29T02:30");
        assertEquals(Instant.parse("2026-03-29T01:30:00Z"), zone.first(never));
        assertEquals(Instant.parse("2026-03-29T01:30:00Z"), zone.last(never));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Mars/Olympus",
                "foo",
                "-05:00",
                "E5",
                "<>5",
                "EST99",
                "EST5EDT,M3.2.0",
                "CET-1CEST,M13.1.0,M10.5.0",
                "CET-1CEST,M3.6.0,M10.5.0",
                "/etc/passwd",
                "../../etc/passwd",
                "EST5EDT,J366,J1"
            })
    void noZoneIsTakenForAnother(String tz) {
        assertTrue(LocalZone.parse(tz).isEmpty(), tz);
    }

    @Test
    void currentZoneIsThatOfTheWork() {
        LocalZone zone = LocalZone.parse("CET-1CEST").orElseThrow();
        zone.during(() -> assertEquals(zone, LocalZone.current()));
        Instant now = Instant.now();
        assertEquals(LocalZone.host().local(now), LocalZone.current().local(now));
    }
}
