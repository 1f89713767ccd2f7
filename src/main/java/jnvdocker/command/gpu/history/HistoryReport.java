package jnvdocker.command.gpu.history;

import jnvdocker.command.gpu.view.HolderJson;
import jnvdocker.command.gpu.view.LeaseJson;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.QuotaText;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * GPU-hours by user. A share is a part of the hours that GPUs were held: the hours that the host
 * could have given are unknown, since there is no record of its GPUs and of its downtime.
 *
 * @param by what the rows are
 * @param untilNow whether the window ends now
 * @param user the name or the uid of the only user who counts
 * @param keptSince leases that ended before that are deleted, though the window includes that time
 * @param missing other hosts whose hours should be here
 */
public record HistoryReport(
        GpuTime time,
        By by,
        boolean untilNow,
        Optional<String> user,
        Optional<Instant> keptSince,
        List<HostsHistory.Missing> missing) {
    public HistoryReport {
        missing = List.copyOf(missing);
    }

    /** The key by which hours are added up. */
    public enum By {
        USER,
        /** A group of each user. */
        GROUP;

        /**
         * @throws InvalidValueException when it is none of these words
         */
        public static By of(String word) {
            return Arrays.stream(values())
                    .filter(by -> by.word().equals(word))
                    .findFirst()
                    .orElseThrow(() ->
                            new InvalidValueException(
                                    Quote.quoted(word) + " is neither user nor group",
                                    "write one of the two"));
        }

        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private static final double HOUR_MILLIS = 3_600_000;
    private static final double PRECISION = 1e6;

    /** Whether the owner is that user, or all users count. */
    boolean counts(Owner owner) {
        return user.isEmpty()
                || user.get().equals(owner.name())
                || user.get().equals(Integer.toUnsignedString(owner.uid()));
    }

    /** Returns the users who count; empty if all do. */
    Optional<Set<Owner>> owners() {
        return user.map(_ -> users().stream().map(GpuTime.Use::owner).collect(Collectors.toSet()));
    }

    private List<GpuTime.Use> users() {
        return time.users().stream().filter(use -> counts(use.owner())).toList();
    }

    private Duration total() {
        return users().stream().map(GpuTime.Use::time).reduce(Duration.ZERO, Duration::plus);
    }

    private Duration idle() {
        return users().stream().map(GpuTime.Use::idle).reduce(Duration.ZERO, Duration::plus);
    }

    List<String> lines(Screen screen) {
        List<String> lines = new ArrayList<>();
        if (users().isEmpty()) {
            lines.add(
                    user.map(name -> Quote.shown(name) + " has held no GPU ")
                                    .orElse("nobody has held a GPU ")
                            + window());
            lines.addAll(missingHosts());
            return lines;
        }
        lines.addAll(new TextTable<>(columns()).lines(users(), screen));
        String idle =
                idle().isZero() ? "" : ", " + percent(share(idle(), total())) + " of them idle,";
        lines.add(hours(total()) + " GPU-hours" + idle + " " + window());
        lines.addAll(missingHosts());
        return lines;
    }

    private List<Column<GpuTime.Use>> columns() {
        return List.of(
                Column.of(by.name(), it -> Quote.shown(it.owner().name())),
                Column.of("GPU-HOURS", it -> hours(it.time())),
                Column.of("SHARE", it -> percent(share(it.time()))),
                Column.of("IDLE", it -> percent(share(it.idle(), it.time()))),
                Column.of("LEASES", GpuTime.Use::leases),
                Column.of("CONTAINERS", GpuTime.Use::containers),
                Column.of("NOW", it -> QuotaText.number(it.held())),
                Column.of("LAST", it -> it.held() > 0 ? "now" : LeaseText.time(it.last())));
    }

    private List<String> missingHosts() {
        return missing.stream()
                .map(it -> "the hours of " + it.host() + " are missing: " + it.error())
                .toList();
    }

    private String window() {
        return (untilNow ? "since " : "from ")
                + LeaseText.time(time.from())
                + (untilNow ? "" : " until " + LeaseText.time(time.until()))
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

    /** The rows for a spreadsheet, with a line of titles. */
    List<String> csv() {
        List<String> lines = new ArrayList<>();
        lines.add("from,until," + by.word() + ",uid,gpu_hours,idle_hours,leases,containers,last");
        for (User user : users().stream().map(this::json).toList()) {
            lines.add(
                    String.join(
                            ",",
                            time.from().toString(),
                            time.until().toString(),
                            quoted(user.user()),
                            user.uid() == null ? "" : user.uid().toString(),
                            plain(user.gpuHours()),
                            plain(user.idleHours()),
                            String.valueOf(user.leases()),
                            String.valueOf(user.containers()),
                            user.last()));
        }
        return lines;
    }

    /** A name that begins as a formula does is none: spreadsheets would compute it. */
    private static String quoted(String name) {
        String text = Quote.shown(name).replace("\"", "\"\"");
        return "\"" + (text.matches("[=+@-].*") ? "'" : "") + text + "\"";
    }

    /** Java writes small numbers as 6.13E-4, which some spreadsheets take for text. */
    private static String plain(double number) {
        return BigDecimal.valueOf(number).toPlainString();
    }

    private static String hours(Duration time) {
        return String.format(Locale.ROOT, "%,.2f", time.toMillis() / HOUR_MILLIS);
    }

    private static String percent(Optional<Double> part) {
        return part.map(share ->
                        share > 0 && share < 0.01
                                ? "<1%"
                                : String.format(Locale.ROOT, "%.0f%%", share * 100))
                .orElse("-");
    }

    /** A part of all users' time, whichever users are shown. */
    private Optional<Double> share(Duration part) {
        return share(part, time.total());
    }

    private static Optional<Double> share(Duration part, Duration whole) {
        return whole.toMillis() == 0
                ? Optional.empty()
                : Optional.of((double) part.toMillis() / whole.toMillis());
    }

    /** The report as {@code --json} prints it. */
    public record Document(
            String from,
            String until,
            String keptSince,
            String by,
            String gpu,
            double gpuHours,
            double idleHours,
            List<User> users,
            LeaseJson.All leases,
            List<HostsHistory.Missing> missing) {}

    /** The GPU time of one user. */
    public record User(
            String user,
            Long uid,
            double gpuHours,
            Double share,
            double idleHours,
            Double idleShare,
            int leases,
            int containers,
            double gpusNow,
            String last) {}

    /**
     * @param gpu the UUID of the GPU that counts
     * @param leases the leases of that GPU
     */
    public Document json(Optional<String> gpu, Optional<LeaseJson.All> leases) {
        return new Document(
                time.from().toString(),
                time.until().toString(),
                keptSince.map(Instant::toString).orElse(null),
                by.word(),
                gpu.orElse(null),
                roundedHours(total()),
                roundedHours(idle()),
                users().stream().map(this::json).toList(),
                leases.orElse(null),
                missing);
    }

    private User json(GpuTime.Use use) {
        return new User(
                use.owner().name(),
                HolderJson.uid(use.owner()).orElse(null),
                roundedHours(use.time()),
                share(use.time()).map(HistoryReport::rounded).orElse(null),
                roundedHours(use.idle()),
                share(use.idle(), use.time()).map(HistoryReport::rounded).orElse(null),
                use.leases(),
                use.containers(),
                rounded(use.held()),
                use.last().toString());
    }

    private static double roundedHours(Duration time) {
        return rounded(time.toMillis() / HOUR_MILLIS);
    }

    private static double rounded(double number) {
        return Math.round(number * PRECISION) / PRECISION;
    }
}
