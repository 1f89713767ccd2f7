package jnvdocker.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.decision.RefusalReason;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The list of metrics in the manual, and the dashboard among the examples. */
class MetricsManualTest {
    private static final Path PAGE = Path.of("site/markdown/metrics.md");
    private static final Path DASHBOARD = Path.of("dist/examples/grafana/gpus.json");
    private static final Pattern NAME = Pattern.compile("jnvdocker_\\w+");

    /** {@code {state="FREE"}}, {@code by (user)}, <code>{{gpu}}</code>. */
    private static final Pattern LABELS =
            Pattern.compile("(\\w+)\\s*(?:=~|!~|!=|=)\\s*\"|by \\(([\\w, ]+)\\)|\\{\\{(\\w+)}}");

    /** Labels that most have, which the page names once. */
    private static final String GPU = "`uuid`, `gpu`";

    private static final String HOLDER = "`user`, `container`, `image`, `claim`";

    /** Prometheus adds it. */
    private static final String INSTANCE = "instance";

    private static String row(Metric metric) {
        String labels =
                metric.labels().stream()
                        .map(label -> "`" + label + "`")
                        .collect(Collectors.joining(", "))
                        .replace(GPU, "*GPU*")
                        .replace(HOLDER, "*holder*");
        return "| `%s` | %s | %s | %s |"
                .formatted(
                        metric.fullName(),
                        metric.kind().name().toLowerCase(Locale.ROOT),
                        labels.isEmpty() ? "-" : labels,
                        metric.help());
    }

    @Test
    void everyMetricIsInTheManual() throws IOException {
        List<String> rows =
                Files.readAllLines(PAGE).stream()
                        .filter(line -> line.startsWith("| `jnvdocker_"))
                        .toList();
        List<String> expected = Arrays.stream(Metric.values()).map(MetricsManualTest::row).toList();
        assertEquals(String.join("\n", expected), String.join("\n", rows));
        String page = Files.readString(PAGE);
        assertTrue(page.contains("*GPU*: " + GPU) && page.contains("*holder*: " + HOLDER));
        for (RefusalReason reason : RefusalReason.values()) {
            assertTrue(page.contains("`" + reason.name().toLowerCase(Locale.ROOT) + "`"));
        }
        for (Throttling reason : Throttling.values()) {
            assertTrue(page.contains("`" + reason.label() + "`"), reason.label());
        }
    }

    @Test
    void dashboardUsesKnownMetrics() throws IOException {
        JsonNode dashboard = new ObjectMapper().readTree(DASHBOARD.toFile());
        int queries = 0;
        for (JsonNode panel : dashboard.path("panels")) {
            assertTrue(!panel.path("title").asText().isBlank());
            for (JsonNode target : panel.path("targets")) {
                check(target.path("expr").asText(), target.path("legendFormat").asText());
                queries++;
            }
        }
        assertTrue(queries > 10, () -> "queries in " + DASHBOARD);
        Set<Integer> ids = new HashSet<>();
        dashboard.path("panels").forEach(panel -> ids.add(panel.path("id").asInt()));
        assertEquals(dashboard.path("panels").size(), ids.size());
    }

    private static void check(String query, String legend) {
        Set<String> reported = new TreeSet<>(Set.of(INSTANCE));
        Matcher names = NAME.matcher(query);
        assertTrue(names.find(), query);
        do {
            reported.addAll(metric(names.group()).labels());
        } while (names.find());
        Matcher labels = LABELS.matcher(query + legend);
        while (labels.find()) {
            for (int group = 1; group <= labels.groupCount(); group++) {
                if (labels.group(group) != null) {
                    List<String> requested = List.of(labels.group(group).split(", "));
                    assertTrue(reported.containsAll(requested), requested + " of " + query);
                }
            }
        }
    }

    private static Metric metric(String name) {
        return Arrays.stream(Metric.values())
                .filter(metric -> metric.fullName().equals(name))
                .findFirst()
                .orElseThrow(() -> new AssertionError("there is no metric " + name));
    }
}
