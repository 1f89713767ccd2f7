package jnvdocker.command;

import java.util.ArrayList;
import java.util.List;

/** Rows of text in columns that are as wide as their widest cell, as docker prints them. */
final class TextTable {
    private static final String GAP = "   ";

    private final List<List<String>> rows = new ArrayList<>();

    TextTable(String... titles) {
        rows.add(List.of(titles));
    }

    void row(Object... cells) {
        List<String> row = new ArrayList<>();
        for (Object cell : cells) {
            row.add(String.valueOf(cell));
        }
        rows.add(row);
    }

    List<String> lines() {
        int[] widths = new int[rows.getFirst().size()];
        for (List<String> row : rows) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        return rows.stream().map(row -> line(row, widths)).toList();
    }

    private static String line(List<String> row, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            line.append(row.get(i)).append(" ".repeat(widths[i] - row.get(i).length())).append(GAP);
        }
        return line.toString().stripTrailing();
    }
}
