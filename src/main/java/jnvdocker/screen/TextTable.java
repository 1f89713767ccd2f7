package jnvdocker.screen;

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
 */
public final class TextTable {
    private final List<Column> columns;
    private final List<List<Cell>> rows = new ArrayList<>();

    /** A cell with a colour for its text. */
    public record Cell(String text, Colour colour) {}

    public TextTable(Column... columns) {
        this.columns = List.of(columns);
    }

    /**
     * @param cells formatted as text; a {@link Cell} keeps its colour
     */
    public void row(Object... cells) {
        rows.add(TableLayout.cells(cells));
    }

    public List<String> lines(Screen screen) {
        TableLayout layout = new TableLayout(screen, columns);
        rows.forEach(layout::measure);
        TableLines table = layout.lines();
        List<String> lines = new ArrayList<>(List.of(table.titles()));
        rows.forEach(row -> lines.addAll(table.of(row)));
        return lines;
    }
}
