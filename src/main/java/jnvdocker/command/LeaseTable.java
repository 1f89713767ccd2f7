package jnvdocker.command;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Refusals;
import jnvdocker.lease.Span;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Leases, a line each. */
final class LeaseTable {
    private static final List<Column> COLUMNS =
            List.of(
                    Column.of("LEASE"),
                    Column.of("CLAIM"),
                    Column.of("USER"),
                    new Column("CONTAINER", Column.Cut.LAST),
                    Column.of("GPUS"),
                    Column.of("STATE"),
                    Column.of("SINCE"),
                    Column.of("AGE"));

    private final TextTable table;
    private final Instant now;
    private final boolean withEnds;

    private LeaseTable(Instant now, boolean withEnds, List<Column> columns) {
        this.table = new TextTable(columns.toArray(Column[]::new));
        this.now = now;
        this.withEnds = withEnds;
    }

    /** For leases that GPUs are held under. */
    static LeaseTable ofLive(Instant now) {
        return new LeaseTable(now, false, COLUMNS);
    }

    /** For leases that have ended as well, with when and why. */
    static LeaseTable withEnds(Instant now) {
        List<Column> columns = new ArrayList<>(COLUMNS);
        columns.add(Column.of("UNTIL"));
        columns.add(new Column("EVIDENCE", Column.Cut.NEXT));
        return new LeaseTable(now, true, columns);
    }

    void live(Lease lease, GpuStatus.State state) {
        row(lease, state.toString(), Span.between(lease.since(), now), "-", "-");
    }

    /**
     * @param lease one that has ended; its age is how long it lasted
     */
    void past(Lease lease) {
        Lease.End end = lease.end().orElseThrow();
        String age = Span.between(lease.since(), end.at());
        row(lease, "ENDED", age, Refusals.time(end.at()), end.evidence());
    }

    private void row(Lease lease, String state, String age, String until, String evidence) {
        List<Object> cells = new ArrayList<>();
        cells.add(lease.id());
        cells.add(lease.claim().id());
        cells.add(Holding.user(lease));
        cells.add(Holding.container(lease));
        cells.add(Holding.indices(lease));
        cells.add(new TextTable.Cell(state, Colour.ofState(state)));
        cells.add(Refusals.time(lease.since()));
        cells.add(age);
        if (withEnds) {
            cells.add(until);
            cells.add(evidence);
        }
        table.row(cells.toArray());
    }

    List<String> lines(Screen screen) {
        return table.lines(screen);
    }
}
