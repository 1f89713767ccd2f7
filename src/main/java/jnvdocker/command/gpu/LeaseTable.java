package jnvdocker.command.gpu;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.registry.PastLeases;
import jnvdocker.screen.Colour;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TableLayout;
import jnvdocker.screen.TableLines;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Leases, a line each. Ended leases may be many, and are not kept. */
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

    private final List<Column> columns;
    private final Instant now;
    private final boolean withEnds;
    private final List<List<TextTable.Cell>> live = new ArrayList<>();

    private LeaseTable(Instant now, boolean withEnds, List<Column> columns) {
        this.columns = columns;
        this.now = now;
        this.withEnds = withEnds;
    }

    /** Makes a table for live leases. */
    static LeaseTable ofLive(Instant now) {
        List<Column> columns = new ArrayList<>(COLUMNS);
        columns.add(Column.note("NOTE"));
        return new LeaseTable(now, false, columns);
    }

    /** Makes a table that includes ended leases, with the time and reason of their end. */
    static LeaseTable withEnds(Instant now) {
        List<Column> columns = new ArrayList<>(COLUMNS);
        columns.add(Column.of("UNTIL"));
        columns.add(Column.note("EVIDENCE"));
        return new LeaseTable(now, true, columns);
    }

    /**
     * @param tenure of its container; it determines the age that is shown, as in {@code gpu ls}
     */
    void live(Lease lease, GpuStatus.State state, Tenure tenure) {
        String note = withEnds ? "-" : note(lease, tenure);
        live.add(row(lease, state.toString(), Span.between(tenure.since(), now), "-", note));
    }

    private static String note(Lease lease, Tenure tenure) {
        return Stream.of(GpuLs.restarts(tenure), TimeText.due(lease).orElse(""))
                .filter(note -> !note.isEmpty())
                .collect(Collectors.joining(", "));
    }

    /**
     * @param lease an ended lease; its age is its duration
     */
    private List<TextTable.Cell> past(Lease lease) {
        Lease.End end = lease.end().orElseThrow();
        String age = Span.between(lease.since(), end.at());
        return row(lease, "ENDED", age, LeaseText.time(end.at()), end.evidence());
    }

    private List<TextTable.Cell> row(
            Lease lease, String state, String age, String until, String note) {
        List<Object> cells = new ArrayList<>();
        cells.add(lease.id());
        cells.add(lease.claim().id());
        cells.add(Holding.user(lease));
        cells.add(Holding.container(lease));
        cells.add(Holding.indices(lease));
        cells.add(new TextTable.Cell(state, Colour.ofState(state)));
        cells.add(LeaseText.time(lease.since()));
        cells.add(age);
        if (withEnds) {
            cells.add(until);
        }
        cells.add(note);
        return TableLayout.cells(cells.toArray());
    }

    /** The destination of lines. */
    @FunctionalInterface
    interface Printing {
        void println(String line) throws IOException;
    }

    /** Some or all ended leases, read again on each iteration. */
    @FunctionalInterface
    interface Ended {
        void each(PastLeases.Visitor visitor) throws IOException;
    }

    /** Prints the table with ended leases, which are read twice: the first time for the widths. */
    void print(Ended past, Screen screen, Printing out) throws IOException {
        TableLayout layout = new TableLayout(screen, columns);
        measure(past, layout);
        printMeasured(past, layout.lines(), out);
    }

    /** Prints the same after an empty line; nothing at all if there are no leases. */
    void printBelow(Ended past, Screen screen, Printing out) throws IOException {
        TableLayout layout = new TableLayout(screen, columns);
        if (measure(past, layout)) {
            out.println("");
            printMeasured(past, layout.lines(), out);
        }
    }

    private boolean measure(Ended past, TableLayout layout) throws IOException {
        live.forEach(layout::measure);
        boolean[] any = {!live.isEmpty()};
        past.each(lease -> {
            any[0] = true;
            layout.measure(past(lease));
        });
        return any[0];
    }

    private void printMeasured(Ended past, TableLines table, Printing out) throws IOException {
        out.println(table.titles());
        for (List<TextTable.Cell> row : live) {
            print(row, table, out);
        }
        past.each(lease -> print(past(lease), table, out));
    }

    private static void print(List<TextTable.Cell> row, TableLines table, Printing out)
            throws IOException {
        for (String line : table.of(row)) {
            out.println(line);
        }
    }
}
