package jnvdocker.command;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Rows of text in columns that are as wide as their widest cell, as docker prints them. On a
 * terminal that is too narrow columns give way, each as far as it can before the next one does; a
 * table that is still too wide stays so, rather than being unreadable.
 */
final class TextTable {
    private static final String GAP = "   ";

    private final Column[] columns;
    private final List<List<Cell>> rows = new ArrayList<>();

    /** A cell whose text has a colour. */
    record Cell(String text, Colour colour) {
        private Cell shortened(int width) {
            return new Cell(Screen.shortened(text, width), colour);
        }
    }

    TextTable(Column... columns) {
        this.columns = columns;
        rows.add(
                IntStream.range(0, columns.length)
                        .mapToObj(i -> cell(columns[i].title()))
                        .toList());
    }

    /**
     * @param cells as text; a {@link Cell} keeps its colour
     */
    void row(Object... cells) {
        List<Cell> row = new ArrayList<>();
        for (Object cell : cells) {
            row.add(cell instanceof Cell coloured ? coloured : cell(cell));
        }
        rows.add(row);
    }

    private static Cell cell(Object text) {
        return new Cell(String.valueOf(text), Colour.PLAIN);
    }

    List<String> lines(Screen screen) {
        int[] widths = widths();
        if (screen.columns() > 0) {
            narrow(widths, screen.columns());
        }
        return rows.stream().map(row -> line(row, widths, screen)).toList();
    }

    private int[] widths() {
        int[] widths = new int[columns.length];
        for (List<Cell> row : rows) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], Screen.width(row.get(i).text()));
            }
        }
        return widths;
    }

    private void narrow(int[] widths, int room) {
        for (Column.Cut cut : Column.Cut.values()) {
            for (int i = 0; i < widths.length; i++) {
                int excess = IntStream.of(widths).sum() + GAP.length() * (widths.length - 1) - room;
                if (excess > 0 && columns[i].cut() == cut) {
                    int width = Math.max(shortest(i), widths[i] - excess);
                    widths[i] = Math.min(widths[i], width);
                }
            }
        }
    }

    private int shortest(int column) {
        int width = columns[column].cut().shortest();
        if (columns[column].cut() != Column.Cut.LAST) {
            return width;
        }
        List<String> names = rows.stream().map(row -> row.get(column).text()).distinct().toList();
        while (shortened(names, width) < names.size()) {
            width++;
        }
        return width;
    }

    private static long shortened(List<String> names, int width) {
        return names.stream().map(name -> Screen.shortened(name, width)).distinct().count();
    }

    private static String line(List<Cell> row, int[] widths, Screen screen) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            Cell cell = row.get(i).shortened(widths[i]);
            int rest = widths[i] - Screen.width(cell.text());
            line.append(screen.coloured(cell.text(), cell.colour()));
            line.append(" ".repeat(rest)).append(GAP);
        }
        return line.toString().stripTrailing();
    }
}
