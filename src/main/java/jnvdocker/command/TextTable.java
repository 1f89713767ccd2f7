package jnvdocker.command;

import java.util.ArrayList;
import java.util.List;

/** Rows of text in columns that are as wide as their widest cell, as docker prints them. */
final class TextTable {
    private static final String GAP = "   ";
    private static final int SHORTEST = 8;

    private final List<List<String>> rows = new ArrayList<>();

    TextTable(String... titles) {
        rows.add(new ArrayList<>(List.of(titles)));
    }

    void row(Object... cells) {
        List<String> row = new ArrayList<>();
        for (Object cell : cells) {
            row.add(String.valueOf(cell));
        }
        rows.add(row);
    }

    List<String> lines() {
        int[] widths = widths();
        return rows.stream().map(row -> line(row, widths)).toList();
    }

    /**
     * No wider than a terminal, if shortening the cells of one column is enough for that.
     *
     * @param columns of the terminal; 0 when there is none
     * @param title of the column to shorten
     */
    List<String> lines(int columns, String title) {
        int widest = lines().stream().mapToInt(String::length).max().orElseThrow();
        if (columns > 0 && widest > columns) {
            int column = rows.getFirst().indexOf(title);
            int width = Math.max(SHORTEST, widths()[column] - (widest - columns));
            rows.forEach(row -> row.set(column, shortened(row.get(column), width)));
        }
        return lines();
    }

    private int[] widths() {
        int[] widths = new int[rows.getFirst().size()];
        for (List<String> row : rows) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        return widths;
    }

    private static String shortened(String cell, int width) {
        return cell.length() <= width ? cell : cell.substring(0, width - 1).stripTrailing() + "…";
    }

    private static String line(List<String> row, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            line.append(row.get(i)).append(" ".repeat(widths[i] - row.get(i).length())).append(GAP);
        }
        return line.toString().stripTrailing();
    }
}
