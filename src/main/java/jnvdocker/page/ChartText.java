package jnvdocker.page;

import jnvdocker.host.Gpu;
import jnvdocker.lease.LeaseBar;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Trouble;
import jnvdocker.screen.Colour;
import jnvdocker.screen.Screen;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * A chart for a terminal: a line for each GPU, and a character for each piece of time, of what took
 * most of it.
 */
public final class ChartText {
    private static final int USUAL_COLUMNS = 80;
    private static final int MOST_COLUMNS = 240;

    private static final char FREE = '.';
    private static final char UNMANAGED = '!';
    private static final char OUT = '#';

    /** For all users behind the 25th. */
    private static final char OTHERS = 'Z';

    private final Chart chart;
    private final ZoneId zone;
    private final Screen screen;
    private final List<Owner> users;
    private final int cells;
    private final int label;
    private final Duration cell;

    private ChartText(Chart chart, List<Gpu> gpus, ZoneId zone, Screen screen) {
        this.chart = chart;
        this.zone = zone;
        this.screen = screen;
        this.users = chart.users();
        this.label =
                "GPU ".length()
                        + gpus.stream().mapToInt(gpu -> gpu.number().length()).max().orElse(1)
                        + 2;
        int columns =
                screen.columns() == 0 ? USUAL_COLUMNS : Math.min(screen.columns(), MOST_COLUMNS);
        this.cells = Math.max(10, columns - label);
        this.cell = Duration.between(chart.from(), chart.until()).dividedBy(cells);
    }

    /**
     * @param gpus those that get a line
     */
    public static List<String> lines(Chart chart, List<Gpu> gpus, ZoneId zone, Screen screen) {
        return new ChartText(chart, gpus, zone, screen).lines(gpus);
    }

    private List<String> lines(List<Gpu> gpus) {
        List<String> lines = new ArrayList<>();
        lines.add(ticks());
        gpus.forEach(gpu -> lines.add(line(gpu)));
        lines.addAll(legend());
        return lines;
    }

    /** The beginnings of hours or days, each above its piece of time. */
    private String ticks() {
        Duration span = Duration.between(chart.from(), chart.until());
        boolean hours = span.compareTo(Duration.ofHours(50)) <= 0;
        DateTimeFormatter format =
                DateTimeFormatter.ofPattern(hours ? "HH:mm" : "MM-dd", Locale.ROOT);
        StringBuilder line = new StringBuilder(" ".repeat(label));
        ZonedDateTime tick =
                chart.from().atZone(zone).truncatedTo(hours ? ChronoUnit.HOURS : ChronoUnit.DAYS);
        for (; tick.toInstant().isBefore(chart.until()); tick = next(tick, hours)) {
            int at = label + place(tick.toInstant());
            String text = format.format(tick);
            boolean isFree = line.length() < Math.max(at, label + 1);
            boolean fits = at + text.length() <= label + cells;
            if (!tick.toInstant().isBefore(chart.from()) && isFree && fits) {
                line.append(" ".repeat(at - line.length())).append(text);
            }
        }
        return line.toString();
    }

    private static ZonedDateTime next(ZonedDateTime tick, boolean hours) {
        return hours ? tick.plusHours(1) : tick.plusDays(1);
    }

    private int place(Instant at) {
        return (int) (Duration.between(chart.from(), at).toMillis() / Math.max(1, cell.toMillis()));
    }

    private String line(Gpu gpu) {
        long[][] times = new long[cells][kinds()];
        for (LeaseBar bar : chart.bars()) {
            if (bar.gpu().equals(gpu.uuid())) {
                int user = user(bar.owner());
                Instant until = bar.until().orElse(chart.until());
                add(times, 2 * user, bar.since(), until, 1);
                for (LeaseBar.Stretch idle : bar.idle()) {
                    add(times, 2 * user, idle.from(), idle.until(), -1);
                    add(times, 2 * user + 1, idle.from(), idle.until(), 1);
                }
            }
        }
        for (Trouble trouble : chart.troubles()) {
            if (trouble.gpu().equals(gpu.uuid())) {
                int kind = trouble.kind() == Trouble.Kind.UNMANAGED ? 2 : 1;
                add(times, kinds() - kind, trouble.since(), trouble.until(), 1);
            }
        }
        String text = "GPU " + gpu.number();
        StringBuilder line = new StringBuilder(text + " ".repeat(label - text.length()));
        for (long[] each : times) {
            line.append(shown(each));
        }
        return line.toString();
    }

    /** Each user at work and idle, then unmanaged use and GPUs that are out of service. */
    private int kinds() {
        return 2 * Math.min(users.size(), OTHERS - 'A' + 1) + 2;
    }

    private int user(Owner owner) {
        return Math.min(users.indexOf(owner), OTHERS - 'A');
    }

    private void add(long[][] times, int kind, Instant since, Instant until, int sign) {
        long begin = Math.max(0, Duration.between(chart.from(), since).toMillis());
        long end = Duration.between(chart.from(), until).toMillis();
        long width = Math.max(1, cell.toMillis());
        for (long at = begin / width; at < cells && at * width < end; at++) {
            long part = Math.min(end, (at + 1) * width) - Math.max(begin, at * width);
            times[(int) at][kind] += sign * part;
        }
    }

    private String shown(long[] times) {
        long held = Arrays.stream(times).sum();
        int most =
                IntStream.range(0, times.length)
                        .reduce((one, other) -> times[other] > times[one] ? other : one)
                        .orElseThrow();
        if (2 * held < cell.toMillis() || times[most] <= 0) {
            return String.valueOf(FREE);
        }
        if (most == times.length - 2) {
            return screen.coloured(String.valueOf(UNMANAGED), Colour.RED);
        }
        if (most == times.length - 1) {
            return screen.coloured(String.valueOf(OUT), Colour.MAGENTA);
        }
        char letter = (char) ('A' + most / 2);
        return String.valueOf(most % 2 == 0 ? letter : Character.toLowerCase(letter));
    }

    private List<String> legend() {
        List<String> words = new ArrayList<>();
        for (int i = 0; i < users.size() && i < OTHERS - 'A'; i++) {
            words.add((char) ('A' + i) + " " + Quote.shown(users.get(i).name()));
        }
        if (users.size() > OTHERS - 'A') {
            words.add(OTHERS + " others");
        }
        if (!users.isEmpty()) {
            words.add("small letter: held but idle");
        }
        words.add(UNMANAGED + " used without a lease");
        words.add(OUT + " cordoned or sick");
        words.add(FREE + " free");
        words.add(Span.text(cell) + " each");
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String word : words) {
            if (!line.isEmpty() && Screen.width(line + "   " + word) > label + cells) {
                lines.add(line.toString());
                line.setLength(0);
            }
            line.append(line.isEmpty() ? "" : "   ").append(word);
        }
        lines.add(line.toString());
        if (!chart.complete()) {
            lines.add("only the latest leases are drawn: there are too many");
        }
        return lines;
    }
}
