package jnvdocker.command.gpu;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * GPU-hours by user. A share is one of the hours that GPUs were held: how many the host could have
 * given is not known, since nobody has written down which GPUs it had, and when it was down.
 *
 * @param user the name or the uid of the only one who counts
 * @param keptSince what ended before that is deleted, though it would be in the window
 */
record HistoryReport(GpuTime time, Optional<String> user, Optional<Instant> keptSince) {
    private static final double HOUR_MILLIS = 3_600_000;
    private static final double PRECISION = 1e6;

    /** Whether it is that user, or any will do. */
    boolean counts(Owner owner) {
        return user.isEmpty()
                || user.get().equals(owner.name())
                || user.get().equals(Integer.toUnsignedString(owner.uid()));
    }

    /** Of those who count; empty when all do. */
    Optional<Set<Integer>> uids() {
        return user.map(
                _ -> users().stream().map(use -> use.owner().uid()).collect(Collectors.toSet()));
    }

    private List<GpuTime.Use> users() {
        return time.users().stream().filter(use -> counts(use.owner())).toList();
    }

    private Duration total() {
        return users().stream().map(GpuTime.Use::time).reduce(Duration.ZERO, Duration::plus);
    }

    List<String> lines(Screen screen) {
        List<String> lines = new ArrayList<>();
        if (users().isEmpty()) {
            lines.add(
                    user.map(name -> Quote.shown(name) + " has held no GPU ")
                                    .orElse("nobody has held a GPU ")
                            + window());
            return lines;
        }
        TextTable table =
                new TextTable(
                        Column.of("USER"),
                        Column.of("GPU-HOURS"),
                        Column.of("SHARE"),
                        Column.of("LEASES"),
                        Column.of("CONTAINERS"),
                        Column.of("GPUS NOW"),
                        Column.of("LAST"));
        for (GpuTime.Use use : users()) {
            table.row(
                    Quote.shown(use.owner().name()),
                    hours(use.time()),
                    percent(use.time()),
                    use.leases(),
                    use.containers(),
                    use.held(),
                    use.held() > 0 ? "now" : LeaseText.time(use.last()));
        }
        lines.addAll(table.lines(screen));
        lines.add(hours(total()) + " GPU-hours " + window());
        return lines;
    }

    private String window() {
        return "since "
                + LeaseText.time(time.from())
                + " ("
                + Span.between(time.from(), time.until())
                + ")"
                + keptSince
                        .map(kept ->
                                "; what ended before "
                                        + LeaseText.time(kept)
                                        + " is not kept (keep_history)")
                        .orElse("");
    }

    private static String hours(Duration time) {
        return String.format(Locale.ROOT, "%,.2f", time.toMillis() / HOUR_MILLIS);
    }

    private String percent(Duration part) {
        return share(part)
                .map(share ->
                        share > 0 && share < 0.01
                                ? "<1%"
                                : String.format(Locale.ROOT, "%.0f%%", share * 100))
                .orElse("-");
    }

    /** Of all users' time, whoever is shown. */
    private Optional<Double> share(Duration part) {
        long all = time.total().toMillis();
        return all == 0 ? Optional.empty() : Optional.of((double) part.toMillis() / all);
    }

    /**
     * @param gpu the UUID of the one that counts
     */
    ObjectNode json(Optional<String> gpu) {
        ObjectNode root = LeaseJson.object();
        root.put("from", time.from().toString());
        root.put("until", time.until().toString());
        root.put("kept_since", keptSince.map(Instant::toString).orElse(null));
        root.put("gpu", gpu.orElse(null));
        root.put("gpu_hours", rounded(total().toMillis() / HOUR_MILLIS));
        ArrayNode users = root.putArray("users");
        for (GpuTime.Use use : users()) {
            users.addObject()
                    .put("user", use.owner().name())
                    .put("uid", LeaseJson.uid(use.owner()).orElse(null))
                    .put("gpu_hours", rounded(use.time().toMillis() / HOUR_MILLIS))
                    .put("share", share(use.time()).map(HistoryReport::rounded).orElse(null))
                    .put("leases", use.leases())
                    .put("containers", use.containers())
                    .put("gpus_now", use.held())
                    .put("last", use.last().toString());
        }
        return root;
    }

    private static double rounded(double number) {
        return Math.round(number * PRECISION) / PRECISION;
    }
}
