package jnvdocker.command.gpu.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Owner;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;
import java.util.Set;

class HistoryReportTest {
    /** {@code 2024-01-02 09:12} in any time zone. */
    private static final Instant FROM =
            LocalDateTime.of(2024, 1, 2, 9, 12).atZone(ZoneId.systemDefault()).toInstant();

    private static final GpuTime TIME =
            new GpuTime(
                    FROM,
                    FROM.plus(Duration.ofDays(7)),
                    List.of(
                            use(
                                    new Owner(1001, "alice"),
                                    Duration.ofHours(1_234),
                                    432,
                                    12,
                                    9,
                                    2.25,
                                    7),
                            use(
                                    new Owner(1002, "b\u001b[2J"),
                                    Duration.ofMinutes(617),
                                    0,
                                    3,
                                    1,
                                    0,
                                    1),
                            use(new Owner(-1, "somebody"), Duration.ofSeconds(20), 0, 1, 0, 0, 0)));

    private static GpuTime.Use use(
            Owner owner,
            Duration time,
            int idleHours,
            int leases,
            int containers,
            double held,
            int lastDay) {
        return new GpuTime.Use(
                owner,
                time,
                Duration.ofHours(idleHours),
                leases,
                containers,
                held,
                FROM.plus(Duration.ofDays(lastDay)));
    }

    private static HistoryReport users(
            GpuTime time, Optional<String> user, Optional<Instant> keptSince) {
        return new HistoryReport(time, HistoryReport.By.USER, true, user, keptSince, List.of());
    }

    private static HistoryReport report(String user) {
        return users(TIME, Optional.ofNullable(user), Optional.empty());
    }

    @Test
    void whoHasHadMostComesFirst() {
        assertEquals(
                """
                USER         GPU-HOURS   SHARE   IDLE   LEASES   CONTAINERS   NOW    LAST
                alice        1,234.00    99%     35%    12       9            2.25   now
                b\\u{1b}[2J   10.28       <1%     0%     3        1            0      2024-01-03 09:12
                somebody     0.01        <1%     0%     1        0            0      2024-01-02 09:12
                1,244.29 GPU-hours, 35% of them idle, since 2024-01-02 09:12 (7d)\
                """,
                String.join("\n", report(null).lines(Screen.NONE)));
    }

    @Test
    void tableFitsATerminalOf80Columns() {
        GpuTime time =
                new GpuTime(
                        FROM,
                        TIME.until(),
                        List.of(
                                use(
                                        new Owner(1001, "alice"),
                                        Duration.ofHours(1_234),
                                        1_234,
                                        12,
                                        9,
                                        0,
                                        7)));
        List<String> lines =
                users(time, Optional.empty(), Optional.empty())
                        .lines(new Screen(80, 0, true, true, false));
        assertTrue(Screen.width(lines.get(1)) <= 80, lines::toString);
        assertEquals("1,234.00 GPU-hours, 100% of them idle, since", lines.get(2).substring(0, 44));
    }

    /** One user's share does not depend on whether others are shown. */
    @Test
    void oneUserIsNamedByNameOrUid() {
        assertEquals(report("alice").lines(Screen.NONE), report("1001").lines(Screen.NONE));
        assertEquals(
                List.of(
                        "USER    GPU-HOURS   SHARE   IDLE   LEASES   CONTAINERS   NOW    LAST",
                        "alice   1,234.00    99%     35%    12       9            2.25   now",
                        "1,234.00 GPU-hours, 35% of them idle, since 2024-01-02 09:12 (7d)"),
                report("alice").lines(Screen.NONE));
        assertEquals(Optional.of(Set.of(new Owner(1001, "alice"))), report("alice").owners());
        assertEquals(Optional.empty(), report(null).owners());
    }

    @Test
    void userWithoutAnyIsReported() {
        assertEquals(
                List.of("carol has held no GPU since 2024-01-02 09:12 (7d)"),
                report("carol").lines(Screen.NONE));
        assertEquals(
                List.of("nobody has held a GPU since 2024-01-02 09:12 (1h)"),
                users(
                                new GpuTime(FROM, FROM.plus(Duration.ofHours(1)), List.of()),
                                Optional.empty(),
                                Optional.empty())
                        .lines(Screen.NONE));
    }

    @Test
    void aWindowThatBeginsBeforeTheHistoryIsReported() {
        Instant kept = FROM.plus(Duration.ofDays(1));
        HistoryReport report = users(TIME, Optional.empty(), Optional.of(kept));
        assertEquals(
                "1,244.29 GPU-hours, 35% of them idle, since 2024-01-02 09:12 (7d); what ended"
                        + " before 2024-01-03 09:12 is not kept (keep_history)",
                report.lines(Screen.NONE).getLast());
        assertEquals(kept.toString(), report.json(Optional.empty(), Optional.empty()).keptSince());
    }

    @Test
    void spreadsheetsGetNumbersAndNamesThatAreNoFormulas() {
        GpuTime.Use group = use(new Owner(-1, "=cmd|\"x\""), Duration.ofMinutes(90), 1, 2, 1, 0, 1);
        GpuTime time = new GpuTime(FROM, TIME.until(), List.of(group));
        String window = FROM + "," + TIME.until();
        assertEquals(
                List.of(
                        "from,until,group,uid,gpu_hours,idle_hours,leases,containers,last",
                        window + ",\"'=cmd|\"\"x\"\"\",,1.5,1.0,2,1," + group.last()),
                new HistoryReport(
                                time,
                                HistoryReport.By.GROUP,
                                false,
                                Optional.empty(),
                                Optional.empty(),
                                List.of())
                        .csv());
    }

    @Test
    void spreadsheetsGetSmallNumbersAsTheyAreWritten() {
        GpuTime.Use user = use(new Owner(1, "a"), Duration.ofMillis(2207), 0, 1, 1, 0, 1);
        GpuTime time = new GpuTime(FROM, TIME.until(), List.of(user));
        HistoryReport report =
                new HistoryReport(
                        time,
                        HistoryReport.By.USER,
                        false,
                        Optional.empty(),
                        Optional.empty(),
                        List.of());
        assertTrue(report.csv().getLast().contains(",0.000613,0.0,"), report.csv()::toString);
    }

    @Test
    void jsonHasNumbersAndEveryKey() throws IOException {
        String text = Json.text(report(null).json(Optional.of("GPU-1"), Optional.empty()));
        JsonSchemas.check("gpu-history", text);
        JsonNode json = new ObjectMapper().readTree(text);
        assertEquals(FROM.toString(), json.path("from").asText());
        assertEquals("GPU-1", json.path("gpu").asText());
        assertEquals(1244.288889, json.path("gpu_hours").asDouble());
        assertEquals(432, json.path("idle_hours").asDouble());
        assertEquals(
                "{\"user\":\"alice\",\"uid\":1001,\"gpu_hours\":1234.0,\"share\":0.991731,"
                    + "\"idle_hours\":432.0,\"idle_share\":0.350081,\"leases\":12,\"containers\":9,\"gpus_now\":2.25,\"last\":\""
                        + TIME.until()
                        + "\"}",
                json.path("users").path(0).toString());
        assertEquals(true, json.path("users").path(2).path("uid").isNull());
        assertEquals(true, json.path("kept_since").isNull());
        assertEquals(true, json.path("leases").isNull());
    }
}
