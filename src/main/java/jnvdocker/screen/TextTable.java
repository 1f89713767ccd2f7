package jnvdocker.screen;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Rows of text in columns that are as wide as their widest cell, as docker prints them. On a
 * terminal that is too narrow, notes go below their rows, and then columns are made narrower, each
 * as far as possible before the next one; a table that is still too wide stays so, rather than
 * being unreadable.
 *
 * <p>picocli's {@code Help.TextTable} is for help: it needs the width of each column, cuts a text
 * without marking the omission, and keeps all rows, of which {@code gpu leases} has up to 100,000.
 * Measuring, the order of narrowing and keeping names distinct would still have to be done here.
 *
 * @param <T> the subject of a row
 */
public final class TextTable<T> {
    private final List<Column<T>> columns;

    /** A cell with a colour for its text. */
    public record Cell(String text, Colour colour) {}

    /** Takes one of many rows, or lines. */
    @FunctionalInterface
    public interface Visitor<R> {
        void visit(R row) throws IOException;
    }

    /** Rows that may be too many to keep, read again on each iteration. */
    @FunctionalInterface
    public interface Rows<R> {
        void each(Visitor<R> visitor) throws IOException;
    }

    public TextTable(List<Column<T>> columns) {
        this.columns = List.copyOf(columns);
    }

    public List<String> lines(List<T> rows, Screen screen) {
        List<List<Cell>> cells = rows.stream().map(this::cells).toList();
        TableLayout layout = new TableLayout(screen, columns);
        cells.forEach(layout::measure);
        TableLines table = layout.lines();
        List<String> lines = new ArrayList<>(List.of(table.titles()));
        cells.forEach(row -> lines.addAll(table.of(row)));
        return lines;
    }

    /** Prints rows, which are read twice: the first time for the widths. */
    public void print(Rows<T> rows, Screen screen, Visitor<String> out) throws IOException {
        TableLayout layout = new TableLayout(screen, columns);
        rows.each(row -> layout.measure(cells(row)));
        TableLines table = layout.lines();
        out.visit(table.titles());
        rows.each(row -> {
            for (String line : table.of(cells(row))) {
                out.visit(line);
            }
        });
    }

    private List<Cell> cells(T row) {
        return columns.stream().map(column -> column.cell(row)).toList();
    }
}
