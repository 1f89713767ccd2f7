package jnvdocker.rest;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Aligns text as nvidia-docker 1.0 did, by the rules of Go's package text/tabwriter: a tab ends a
 * cell, and cells of adjacent lines that are at the same place and ended by a tab have one width.
 * What follows the last tab of a line belongs to no column.
 */
final class TabbedText {
    private final List<String[]> lines;
    private final StringBuilder out = new StringBuilder();
    private final List<Integer> widths = new ArrayList<>();

    private TabbedText(List<String[]> lines) {
        this.lines = lines;
    }

    static String aligned(String text) {
        List<String[]> lines =
                Stream.of(text.split("\n", -1)).map(line -> line.split("\t", -1)).toList();
        TabbedText aligned = new TabbedText(lines);
        aligned.format(0, lines.size());
        aligned.out.setLength(aligned.out.length() - 1); // the last line ends with the text
        return aligned.out.toString();
    }

    /** Finds the blocks of the next column, and for each what is to the right of it. */
    private void format(int from, int to) {
        int column = widths.size();
        int line = from;
        int written = from;
        while (line < to) {
            if (!isInColumn(line, column)) {
                line++;
                continue;
            }
            write(written, line);
            int begin = line;
            int width = 0;
            for (; line < to && isInColumn(line, column); line++) {
                width = Math.max(width, length(lines.get(line)[column]));
            }
            widths.add(width);
            format(begin, line);
            widths.removeLast();
            written = line;
        }
        write(written, to);
    }

    private boolean isInColumn(int line, int column) {
        return column < lines.get(line).length - 1;
    }

    private void write(int from, int to) {
        for (String[] cells : lines.subList(from, to)) {
            for (int i = 0; i < cells.length; i++) {
                out.append(cells[i]);
                if (i < widths.size() && i < cells.length - 1) {
                    out.repeat(" ", widths.get(i) - length(cells[i]));
                }
            }
            out.append('\n');
        }
    }

    private static int length(String cell) {
        return cell.codePointCount(0, cell.length());
    }
}
