package jnvdocker.screen;

import java.util.ArrayList;
import java.util.List;

/**
 * Rows of text in columns that are as wide as their widest cell, as docker prints them. On a
 * terminal that is too narrow columns give way, each as far as it can before the next one does; a
 * table that is still too wide stays so, rather than being unreadable.
 */
public final class TextTable {
    private final TableLayout layout;
    private final List<List<Cell>> rows = new ArrayList<>();

    /** A cell whose text has a colour. */
    public record Cell(String text, Colour colour) {
        Cell shortened(int width) {
            return new Cell(Screen.shortened(text, width), colour);
        }
    }

    public TextTable(Column... columns) {
        layout = new TableLayout(columns);
        rows.add(layout.titles());
    }

    /**
     * @param cells as text; a {@link Cell} keeps its colour
     */
    public void row(Object... cells) {
        List<Cell> row = TableLayout.cells(cells);
        layout.measure(row);
        rows.add(row);
    }

    public List<String> lines(Screen screen) {
        int[] widths = layout.widths(screen);
        return rows.stream().map(row -> TableLayout.line(row, widths, screen)).toList();
    }
}
