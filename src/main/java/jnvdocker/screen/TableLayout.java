package jnvdocker.screen;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * How wide the columns of a table are, and what its lines look like. It has seen all rows and keeps
 * none of them.
 */
public final class TableLayout {
    private static final String GAP = "   ";

    /** Of more names it does not matter whether each can be told from the others. */
    private static final int NAMES = 1000;

    private final Column[] columns;
    private final int[] widest;
    private final List<Set<String>> names = new ArrayList<>();

    public TableLayout(Column... columns) {
        this.columns = columns;
        this.widest = new int[columns.length];
        for (int i = 0; i < columns.length; i++) {
            names.add(new LinkedHashSet<>());
        }
        measure(titles());
    }

    /** The first row. */
    public List<TextTable.Cell> titles() {
        return cells(
                (Object[])
                        IntStream.range(0, columns.length)
                                .mapToObj(i -> columns[i].title())
                                .toArray(String[]::new));
    }

    public static List<TextTable.Cell> cells(Object... texts) {
        List<TextTable.Cell> cells = new ArrayList<>();
        for (Object text : texts) {
            cells.add(
                    text instanceof TextTable.Cell coloured
                            ? coloured
                            : new TextTable.Cell(String.valueOf(text), Colour.PLAIN));
        }
        return cells;
    }

    public void measure(List<TextTable.Cell> row) {
        for (int i = 0; i < widest.length; i++) {
            String text = row.get(i).text();
            widest[i] = Math.max(widest[i], Screen.width(text));
            if (columns[i].cut() == Column.Cut.LAST && names.get(i).size() < NAMES) {
                names.get(i).add(text);
            }
        }
    }

    /** What is needed to write the lines, once every row has been measured. */
    public int[] widths(Screen screen) {
        int[] widths = widest.clone();
        if (screen.columns() > 0) {
            narrow(widths, screen.columns());
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
        while (shortened(names.get(column), width) < names.get(column).size()) {
            width++;
        }
        return width;
    }

    private static long shortened(Set<String> names, int width) {
        return names.stream().map(name -> Screen.shortened(name, width)).distinct().count();
    }

    public static String line(List<TextTable.Cell> row, int[] widths, Screen screen) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            TextTable.Cell cell = row.get(i).shortened(widths[i]);
            int rest = Math.max(0, widths[i] - Screen.width(cell.text()));
            line.append(screen.coloured(cell.text(), cell.colour()));
            line.append(" ".repeat(rest)).append(GAP);
        }
        return line.toString().stripTrailing();
    }
}
