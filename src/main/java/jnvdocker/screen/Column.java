package jnvdocker.screen;

import java.util.function.Function;

/**
 * A column of a table.
 *
 * @param <T> the subject of a row
 * @param cut the step in which it is made narrower, if the table is wider than the terminal
 * @param value of a row, shown as text; a {@link TextTable.Cell} keeps its colour
 */
public record Column<T>(String title, Cut cut, Function<T, ?> value) {

    /** The order in which columns are made narrower, each with its minimum width. */
    public enum Cut {
        /** A note, of which nothing may be omitted: each goes below its row. */
        BELOW(0),
        /** Figures that people can do without: the last such column is left out first. */
        LEFT_OUT(0),
        /** Values that are the same in most rows. */
        FIRST(8),
        /** Text with the most important part at its beginning. */
        NEXT(12),
        /** Names: only as far as each can still be distinguished from the others. */
        LAST(12),
        /** Short values, and values that users type again. */
        NEVER(Integer.MAX_VALUE);

        private final int shortest;

        Cut(int shortest) {
            this.shortest = shortest;
        }

        int shortest() {
            return shortest;
        }
    }

    /**
     * Makes the last column of a table, for notes on some rows. It never makes a table wider than
     * the terminal: without enough room, a note gets lines of its own.
     */
    public static <T> Column<T> note(String title, Function<T, ?> value) {
        return new Column<>(title, Cut.BELOW, value);
    }

    /** Makes a column that is left out where there is no room for it. */
    public static <T> Column<T> figure(String title, Function<T, ?> value) {
        return new Column<>(title, Cut.LEFT_OUT, value);
    }

    /** Makes a column that is never made narrower. */
    public static <T> Column<T> of(String title, Function<T, ?> value) {
        return new Column<>(title, Cut.NEVER, value);
    }

    /** Makes the column of states, each in its colour. */
    public static <T> Column<T> state(Function<T, String> state) {
        return of(
                "STATE",
                row -> new TextTable.Cell(state.apply(row), Colour.ofState(state.apply(row))));
    }

    TextTable.Cell cell(T row) {
        Object shown = value.apply(row);
        return shown instanceof TextTable.Cell coloured
                ? coloured
                : new TextTable.Cell(String.valueOf(shown), Colour.PLAIN);
    }
}
