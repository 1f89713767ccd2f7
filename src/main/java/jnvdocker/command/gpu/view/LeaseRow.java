package jnvdocker.command.gpu.view;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.screen.Column;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Span;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A lease, as lists show it.
 *
 * @param state of one that lives; empty when it has ended
 * @param tenure of its container, while it lives; it determines the age that is shown, as in {@code
 *     gpu ls}
 */
public record LeaseRow(Lease lease, Optional<GpuStatus.State> state, Optional<Tenure> tenure) {
    public static LeaseRow live(Lease lease, GpuStatus.State state, Tenure tenure) {
        return new LeaseRow(lease, Optional.of(state), Optional.of(tenure));
    }

    public static LeaseRow past(Lease lease) {
        return new LeaseRow(lease, Optional.empty(), Optional.empty());
    }

    public String age(Instant now) {
        return tenure.map(it -> Span.between(it.since(), now))
                .orElseGet(() -> Span.between(lease.since(), end().orElseThrow().at()));
    }

    public Optional<Lease.End> end() {
        return state.isPresent() ? Optional.empty() : lease.end();
    }

    public String note() {
        return Stream.of(tenure.map(LeaseRow::restarts).orElse(""), TimeText.due(lease).orElse(""))
                .filter(note -> !note.isEmpty())
                .collect(Collectors.joining(", "));
    }

    /** Returns a table for live leases. */
    public static TextTable<LeaseRow> ofLive(Instant now) {
        return table(now, List.of(Column.note("NOTE", LeaseRow::note)));
    }

    /** Returns a table that includes ended leases, with the time and reason of their end. */
    public static TextTable<LeaseRow> withEnds(Instant now) {
        return table(
                now,
                List.of(
                        Column.of(
                                "UNTIL",
                                it -> it.end().map(end -> LeaseText.time(end.at())).orElse("-")),
                        Column.note(
                                "EVIDENCE", it -> it.end().map(Lease.End::evidence).orElse("-"))));
    }

    private static TextTable<LeaseRow> table(Instant now, List<Column<LeaseRow>> last) {
        List<Column<LeaseRow>> columns = new ArrayList<>();
        columns.add(Column.of("LEASE", it -> it.lease().id()));
        columns.add(Column.of("CLAIM", it -> it.lease().claim().id()));
        columns.add(Column.of("USER", it -> Holding.user(it.lease())));
        columns.add(new Column<>("CONTAINER", Column.Cut.LAST, it -> HolderName.shown(it.lease())));
        columns.add(Column.of("GPUS", it -> Holding.indices(it.lease())));
        columns.add(Column.state(it -> it.state().map(GpuStatus.State::toString).orElse("ENDED")));
        columns.add(Column.of("SINCE", it -> LeaseText.time(it.lease().since())));
        columns.add(Column.of("AGE", it -> it.age(now)));
        columns.addAll(last);
        return new TextTable<>(columns);
    }

    /** Returns {@code restarted 3 times}; empty if it was not restarted. */
    public static String restarts(Tenure tenure) {
        return switch (tenure.restarts()) {
            case 0 -> "";
            case 1 -> "restarted once";
            default -> "restarted " + tenure.restarts() + " times";
        };
    }
}
