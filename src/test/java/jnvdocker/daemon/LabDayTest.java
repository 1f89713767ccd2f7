package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.history.GpuHistory;
import jnvdocker.command.gpu.history.GpuLimits;
import jnvdocker.command.gpu.show.GpuLs;
import jnvdocker.command.gpu.show.GpuQueue;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.Samples;
import jnvdocker.command.hosts.HostQuery;
import jnvdocker.core.LabDay;
import jnvdocker.core.LabPlan;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.posix.Peer;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.Deadlines;
import jnvdocker.protocol.FrameMemory;
import jnvdocker.screen.Printout;
import jnvdocker.screen.Screen;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import picocli.CommandLine;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.StandardProtocolFamily;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;

/**
 * The day of the manual's lab, by the configuration that its guide shows: within the rules from
 * eight until midnight, and with the views that the guide shows at six.
 */
class LabDayTest {
    private static final Path GUIDE = Path.of("../src/site/markdown/guides.md");
    private static final String HEADING = "## A day in a lab";
    private static final String PROMPT = "$ jnvdocker gpu ";
    private static final int GPUS = 8;
    private static final int SIX = 10 * 60;

    private static final String DATE = "\\d{4}-\\d\\d-\\d\\d";

    /** A terminal. */
    private static final Screen SCREEN = new Screen(80, 0, true, false, false);

    @TempDir Path directory;
    private final TimeZone zone = TimeZone.getDefault();
    private final Instant now = Instant.now();
    private final Deadlines deadlines = new Deadlines();
    private Host host;

    /** It is six here just now: the commands print times of the same day without a date. */
    @BeforeEach
    void beSix() throws IOException {
        int second = LocalTime.ofInstant(now, ZoneOffset.UTC).toSecondOfDay();
        int six = LocalTime.of(18, 0).toSecondOfDay();
        TimeZone.setDefault(TimeZone.getTimeZone(ZoneOffset.ofTotalSeconds(six - second)));
        host = Samples.host(directory.resolve("root"), GPUS);
        Files.createDirectory(directory.resolve("state"));
    }

    @AfterEach
    void beInTheZoneOfBefore() {
        TimeZone.setDefault(zone);
        deadlines.close();
    }

    private LabDay day() throws Exception {
        String config = String.join("\n", blocks().getFirst());
        return new LabDay(
                directory.resolve("state"),
                HostDriver.read(host).gpus(),
                TestingConfig.parse(config).policy(),
                now.minus(Duration.ofMinutes(SIX)));
    }

    /** The blocks of the guide. */
    private static List<List<String>> blocks() throws IOException {
        List<List<String>> blocks = new ArrayList<>();
        boolean here = false;
        boolean inside = false;
        for (String line : Files.readAllLines(GUIDE)) {
            here = line.startsWith("#") && !line.startsWith("    ") ? line.equals(HEADING) : here;
            boolean code = here && line.startsWith("    ");
            if (code && !inside) {
                blocks.add(new ArrayList<>());
            }
            if (code) {
                blocks.getLast().add(line.substring(4).stripTrailing());
            }
            inside = code;
        }
        return blocks;
    }

    @Test
    void everyMinuteIsWithinTheRules() throws Exception {
        try (LabDay day = day()) {
            day.goOn(LabPlan.DAY);
            assertTrue(day.begun() > 50, () -> "only " + day.begun() + " containers began");
            assertTrue(day.refused() > 0, "nobody was refused");
        }
    }

    @Test
    void theGuideShowsTheViewsAtSix() throws Exception {
        List<String> shown = new ArrayList<>();
        List<String> printed = new ArrayList<>();
        try (LabDay day = day()) {
            day.goOn(SIX);
            day.pass(Duration.ofSeconds(30));
            for (List<String> block : blocks()) {
                if (block.getFirst().startsWith(PROMPT)) {
                    shown.addAll(block);
                    for (String line : block) {
                        if (line.startsWith(PROMPT)) {
                            printed.add(line);
                            printed.addAll(print(line.substring(PROMPT.length()), day));
                        }
                    }
                }
            }
        }
        List<String> expected = plain(shown);
        List<String> actual = plain(printed);
        for (int i = 0; i < expected.size(); i++) {
            assertEquals(expected.get(i), actual.get(i), "line " + i);
        }
        assertEquals(expected.size(), actual.size());
        assertTrue(printed.stream().allMatch(line -> Screen.width(line) <= 80), "too wide");
    }

    /** Without the date of today. */
    private static List<String> plain(List<String> lines) {
        return lines.stream().map(line -> line.stripTrailing().replaceAll(DATE, "DATE")).toList();
    }

    /** Prints as the daemon does; students have no names on this host. */
    private List<String> print(String command, LabDay day) throws Exception {
        List<String> words = new ArrayList<>(List.of(command.split(" ")));
        words.replaceAll(word -> word.replaceFirst(DATE, LocalDate.now().toString()));
        words.replaceAll(word ->
                LabPlan.students().stream()
                        .filter(student -> student.name().equals(word))
                        .map(student -> "" + student.uid())
                        .findFirst()
                        .orElse(word));
        try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            var memory = new FrameMemory(FrameMemory.Limits.STANDARD, Duration.ofSeconds(10));
            var client =
                    new ClientConnection(
                            channel, memory.open(new Peer(1, 0)), deadlines, Optional.empty());
            Printout out = new Printout(client, true, SCREEN);
            new CommandLine(command(words.removeFirst(), out, day))
                    .setOut(new PrintWriter(out, true))
                    .execute(words.toArray(String[]::new));
            return out.rest().lines().toList();
        }
    }

    private Object command(String name, Printout out, LabDay day) {
        var leases = day.parts().leases();
        GpuView view = new GpuView(host, leases, Map::of, Map::of, least -> day.idle().idle(least));
        HostQuery hosts = new HostQuery(null, List::of);
        return switch (name) {
            case "ls" -> new GpuLs(view, hosts, SCREEN);
            case "queue" -> new GpuQueue(leases, SCREEN);
            case "limits" -> new GpuLimits(leases, null, SCREEN);
            case "history" ->
                    new GpuHistory(
                            view,
                            Optional.of(Duration.ofDays(400)),
                            Optional.empty(),
                            hosts,
                            SCREEN,
                            out);
            default -> throw new AssertionError("no view of the day: " + name);
        };
    }
}
