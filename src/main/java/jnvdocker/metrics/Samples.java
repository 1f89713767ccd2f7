package jnvdocker.metrics;

import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** The samples of one answer, put into Prometheus's text by its own library. */
final class Samples {
    static final String TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

    /** The length of a label's value: names come from users and engines. */
    private static final int LONGEST = 256;

    private final boolean named;
    private final Map<Metric, List<Sample>> samples = new EnumMap<>(Metric.class);

    private record Sample(Labels labels, double value) {}

    /**
     * @param named whether users, containers, images and claims are published
     */
    Samples(boolean named) {
        this.named = named;
    }

    boolean isNamed() {
        return named;
    }

    /**
     * Adds a sample.
     *
     * @param labels the values of the metric's labels, in their order
     */
    void add(Metric metric, List<String> labels, double value) {
        samples.computeIfAbsent(metric, _ -> new ArrayList<>())
                .add(new Sample(labels(metric, labels), value));
    }

    private Labels labels(Metric metric, List<String> values) {
        List<String> names = metric.labels();
        if (names.size() != values.size()) {
            throw new IllegalArgumentException(metric + " has labels " + names);
        }
        Labels.Builder labels = Labels.builder();
        for (int i = 0; i < names.size(); i++) {
            if (named || !Metric.NAMES.contains(names.get(i))) {
                labels.label(names.get(i), bounded(values.get(i)));
            }
        }
        return labels.build();
    }

    private static String bounded(String value) {
        return value.codePointCount(0, value.length()) > LONGEST
                ? value.substring(0, value.offsetByCodePoints(0, LONGEST))
                : value;
    }

    void add(Metric metric, double value) {
        add(metric, List.of(), value);
    }

    /** Adds a sample of a figure that is known, in other units. */
    void add(Metric metric, List<String> labels, OptionalInt figure, double unit) {
        figure.ifPresent(value -> add(metric, labels, value * unit));
    }

    void add(Metric metric, List<String> labels, OptionalLong figure) {
        figure.ifPresent(value -> add(metric, labels, (double) value));
    }

    void add(Metric metric, List<String> labels, Optional<Boolean> figure) {
        figure.ifPresent(value -> add(metric, labels, value));
    }

    void add(Metric metric, List<String> labels, boolean figure) {
        add(metric, labels, figure ? 1 : 0);
    }

    /** Returns all of them. */
    String text() throws IOException {
        MetricSnapshots.Builder all = MetricSnapshots.builder();
        samples.forEach((metric, its) -> all.metricSnapshot(snapshot(metric, its)));
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        PrometheusTextFormatWriter.create().write(text, all.build());
        return text.toString(StandardCharsets.UTF_8);
    }

    /** The library puts the endings that Prometheus has for kinds behind names by itself. */
    private static MetricSnapshot snapshot(Metric metric, List<Sample> samples) {
        String name = metric.fullName();
        return switch (metric.kind()) {
            case GAUGE -> {
                var gauge = GaugeSnapshot.builder().name(name).help(metric.help());
                for (Sample sample : samples) {
                    gauge.dataPoint(
                            new GaugeSnapshot.GaugeDataPointSnapshot(
                                    sample.value(), sample.labels(), null));
                }
                yield gauge.build();
            }
            case COUNTER -> {
                var counter = CounterSnapshot.builder().name(without(name, "_total"));
                for (Sample sample : samples) {
                    counter.dataPoint(
                            new CounterSnapshot.CounterDataPointSnapshot(
                                    sample.value(), sample.labels(), null, 0));
                }
                yield counter.help(metric.help()).build();
            }
            case INFO -> {
                var info = InfoSnapshot.builder().name(without(name, "_info"));
                for (Sample sample : samples) {
                    info.dataPoint(new InfoSnapshot.InfoDataPointSnapshot(sample.labels()));
                }
                yield info.help(metric.help()).build();
            }
        };
    }

    private static String without(String name, String end) {
        return name.substring(0, name.length() - end.length());
    }
}
