package jnvdocker.screen;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The widths of the columns of a table. It sees all rows and keeps none of them; each becomes lines
 * when it is passed again.
 */
final class TableLayout {
    /** The number of partial names up to which they are kept distinguishable. */
    private static final int NAMES = 1000;

    private final Screen screen;
    private final List<? extends Column<?>> columns;
    private final int[] widest;
    private final List<Set<String>> names = new ArrayList<>();

    TableLayout(Screen screen, List<? extends Column<?>> columns) {
        this.screen = screen;
        this.columns = columns;
        this.widest = new int[columns.size()];
        columns.forEach(_ -> names.add(new LinkedHashSet<>()));
        measure(titles());
    }

    /** Returns the first row. */
    private List<TextTable.Cell> titles() {
        return columns.stream().map(it -> new TextTable.Cell(it.title(), Colour.PLAIN)).toList();
    }

    void measure(List<TextTable.Cell> row) {
        for (int i = 0; i < widest.length; i++) {
            String text = screen.readable(row.get(i).text());
            widest[i] = Math.max(widest[i], Screen.width(text));
            if (columns.get(i).cut() == Column.Cut.LAST && names.get(i).size() < NAMES) {
                names.get(i).add(text);
            }
        }
    }

    /** Returns a maker of lines, once every row has been measured. */
    TableLines lines() {
        int[] widths = widest.clone();
        if (screen.columns() > 0) {
            narrow(widths);
        }
        return new TableLines(screen, titles(), widths);
    }

    private void narrow(int[] widths) {
        for (Column.Cut cut : Column.Cut.values()) {
            if (cut == Column.Cut.LEFT_OUT) {
                leaveOut(widths);
                continue;
            }
            for (int i = 0; i < widths.length; i++) {
                int excess = TableLines.width(widths) - screen.columns();
                if (excess > 0 && columns.get(i).cut() == cut) {
                    int width = Math.max(shortest(i), widths[i] - excess);
                    widths[i] = cut == Column.Cut.BELOW ? 0 : Math.min(widths[i], width);
                }
            }
        }
    }

    private void leaveOut(int[] widths) {
        for (int i = widths.length - 1; i >= 0; i--) {
            if (columns.get(i).cut() == Column.Cut.LEFT_OUT
                    && TableLines.width(widths) > screen.columns()) {
                widths[i] = TableLines.LEFT_OUT;
            }
        }
    }

    private int shortest(int column) {
        int width = columns.get(column).cut().shortest();
        if (columns.get(column).cut() != Column.Cut.LAST) {
            return width;
        }
        while (shortened(names.get(column), width) < names.get(column).size()) {
            width++;
        }
        return width;
    }

    private long shortened(Set<String> texts, int width) {
        return texts.stream().map(text -> screen.shortened(text, width)).distinct().count();
    }
}
