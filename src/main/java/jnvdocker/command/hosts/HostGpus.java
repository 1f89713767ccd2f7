package jnvdocker.command.hosts;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Span;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The GPUs of several hosts, as {@code gpu ls --on} shows them.
 *
 * @param isRepeated whether a host that has not answered may still answer
 */
public record HostGpus(List<HostAnswer> answers, Instant now, boolean isRepeated) implements Shown {
    /** The command whose answers these are. */
    public static final String COMMAND = "jnvdocker gpu ls --json";

    /** A row has room for a few. */
    private static final int MOST_SHARES = 8;

    private static final double GIB = 1 << 30;
    private static final String NONE = "-";
    private static final Pattern WORD = Pattern.compile("[a-z]+");

    /**
     * A host, as {@code --json} prints it.
     *
     * @param error why it has not answered; null if it has
     * @param gpus null if it has not answered
     */
    public record Document(String host, String error, List<JsonNode> gpus) {}

    /** Returns one element for each host, with its GPUs as {@code gpu ls --json} has them. */
    @Override
    public List<Document> document() {
        return answers.stream()
                .map(it ->
                        new Document(
                                it.host(),
                                it.failure().orElse(null),
                                it.failure().isPresent() ? null : it.entries()))
                .toList();
    }

    @Override
    public ExitCode exitCode() {
        return isRepeated || answers.stream().allMatch(answer -> answer.failure().isEmpty())
                ? ExitCode.OK
                : ExitCode.WRONG;
    }

    /**
     * A GPU of a host.
     *
     * @param gpu empty for a host that has none or did not answer
     */
    private record Row(HostAnswer host, Optional<JsonNode> gpu) {
        String of(Function<JsonNode, String> value) {
            return gpu.map(value).orElse(NONE);
        }

        String note() {
            return gpu.map(it -> HostAnswer.note(it, "note").orElse(""))
                    .orElseGet(() -> host.failure().orElse("it has no GPU"));
        }
    }

    /** Returns one row for each GPU, and one for each host that has none or did not answer. */
    @Override
    public List<String> lines(Screen screen) {
        List<Row> rows = new ArrayList<>();
        for (HostAnswer answer : answers) {
            answer.entries().forEach(gpu -> rows.add(new Row(answer, Optional.of(gpu))));
            if (answer.entries().isEmpty()) {
                rows.add(new Row(answer, Optional.empty()));
            }
        }
        return new TextTable<>(
                        List.of(
                                Column.<Row>of("HOST", it -> it.host().host()),
                                Column.of("GPU", it -> it.of(HostGpus::number)),
                                new Column<>(
                                        "MODEL", Column.Cut.FIRST, it -> it.of(HostGpus::modelOf)),
                                Column.state(it -> it.of(HostGpus::state)),
                                Column.of("USER", it -> it.of(HostGpus::user)),
                                new Column<>(
                                        "CONTAINER",
                                        Column.Cut.LAST,
                                        it -> it.of(gpu -> each(gpu, HostGpus::holder))),
                                Column.of("AGE", it -> it.of(gpu -> age(gpu, now))),
                                Column.figure("UTIL", it -> it.of(HostGpus::utilization)),
                                Column.figure("MEM", it -> it.of(HostGpus::memory)),
                                Column.note("NOTE", Row::note)))
                .lines(rows, screen);
    }

    /** Returns a model as tables show it: all are NVIDIA's. */
    public static String model(String model) {
        return model.replaceFirst("^NVIDIA ", "");
    }

    private static String modelOf(JsonNode gpu) {
        return HostAnswer.name(gpu, "model").map(HostGpus::model).orElse(NONE);
    }

    private static String state(JsonNode gpu) {
        return HostAnswer.name(gpu, "state")
                .filter(WORD.asMatchPredicate())
                .map(word -> word.toUpperCase(Locale.ROOT))
                .orElse(NONE);
    }

    private static String user(JsonNode gpu) {
        return each(gpu, holder -> HostAnswer.name(holder, "user").orElse(NONE));
    }

    private static String utilization(JsonNode gpu) {
        return figure(gpu, "utilization").map(it -> it + "%").orElse(NONE);
    }

    private static String holder(JsonNode lease) {
        return Stream.of("container_name", "pod", "command", "image")
                .flatMap(key -> HostAnswer.name(lease, key).stream())
                .findFirst()
                .orElse(NONE);
    }

    /** Joins what is said of each holder of a share; a GPU without shares has one holder. */
    private static String each(JsonNode gpu, Function<JsonNode, String> part) {
        JsonNode shares = gpu.path("shares");
        return shares.isEmpty()
                ? part.apply(gpu)
                : StreamSupport.stream(shares.spliterator(), false)
                        .limit(MOST_SHARES)
                        .map(part)
                        .distinct()
                        .collect(Collectors.joining(", "));
    }

    /** Returns {@code 2}, and {@code 2:1} for a MIG instance. */
    static String number(JsonNode gpu) {
        String index = gpu.path("index").asText(NONE);
        JsonNode instance = gpu.path("instance");
        return instance.isInt() ? index + ":" + instance.asInt() : index;
    }

    private static String age(JsonNode gpu, Instant now) {
        return time(gpu, "since")
                .map(it -> Span.between(it, now))
                .or(() -> time(gpu, "idle_since").map(it -> "idle " + Span.between(it, now)))
                .orElse(NONE);
    }

    private static Optional<Instant> time(JsonNode gpu, String key) {
        try {
            return HostAnswer.name(gpu, key).map(Instant::parse);
        } catch (DateTimeParseException e) {
            return Optional.empty(); // What another host sends is shown as far as it makes sense.
        }
    }

    private static Optional<Long> figure(JsonNode gpu, String key) {
        JsonNode figure = gpu.path("figures").path(key);
        return figure.isIntegralNumber() ? Optional.of(figure.asLong()) : Optional.empty();
    }

    private static String memory(JsonNode gpu) {
        Optional<Long> used = figure(gpu, "memory_used");
        Optional<Long> total = figure(gpu, "memory_total");
        return used.isPresent() && total.isPresent()
                ? String.format(Locale.ROOT, "%.1f/%.0f GiB", used.get() / GIB, total.get() / GIB)
                : NONE;
    }
}
