package jnvdocker.screen;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Formats the rows of a table as lines. */
final class TableLines {
    /** The width of a column that is not shown. */
    static final int LEFT_OUT = -1;

    private static final String GAP = "   ";
    private static final String INDENT = GAP + GAP;

    /** The text of a cell without a value. */
    private static final String NOTHING = "-";

    /** The least width of a note on lines of its own, however narrow the terminal is. */
    private static final int SHORTEST_NOTE = 20;

    private final Screen screen;
    private final List<TextTable.Cell> titles;
    private final int[] widths;

    /**
     * @param widths the widths of the columns; 0 for a column with cells that go below their rows
     */
    TableLines(Screen screen, List<TextTable.Cell> titles, int[] widths) {
        this.screen = screen;
        this.titles = titles;
        this.widths = widths.clone();
    }

    /** Returns the width of a whole line. */
    static int width(int... widths) {
        int[] shown = IntStream.of(widths).filter(width -> width > 0).toArray();
        return IntStream.of(shown).sum() + GAP.length() * (shown.length - 1);
    }

    String titles() {
        return line(titles);
    }

    List<String> of(List<TextTable.Cell> row) {
        List<String> lines = new ArrayList<>(List.of(line(row)));
        for (int i = 0; i < widths.length; i++) {
            String text = screen.readable(row.get(i).text());
            if (widths[i] == 0 && !text.equals(NOTHING)) {
                lines.addAll(below(text));
            }
        }
        return lines;
    }

    private String line(List<TextTable.Cell> row) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            if (widths[i] > 0) {
                TextTable.Cell cell = row.get(i);
                String text = screen.shortened(screen.readable(cell.text()), widths[i]);
                line.append(screen.coloured(text, cell.colour()));
                line.append(" ".repeat(widths[i] - Screen.width(text))).append(GAP);
            }
        }
        return line.toString().stripTrailing();
    }

    /** A word that is too long stays whole: it may be a path that a user types again. */
    private List<String> below(String text) {
        int room = Math.max(SHORTEST_NOTE, screen.columns() - INDENT.length());
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String word : text.split(" ")) {
            if (!line.isEmpty() && Screen.width(line + " " + word) > room) {
                lines.add(INDENT + line);
                line.setLength(0);
            }
            line.append(line.isEmpty() ? "" : " ").append(word);
        }
        if (!line.isEmpty()) {
            lines.add(INDENT + line);
        }
        return lines;
    }
}
