package jnvdocker.screen;

/**
 * A column of a table.
 *
 * @param cut the step in which it is made narrower, if the table is wider than the terminal
 */
public record Column(String title, Cut cut) {

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
    public static Column note(String title) {
        return new Column(title, Cut.BELOW);
    }

    /** Makes a column that is left out where there is no room for it. */
    public static Column figure(String title) {
        return new Column(title, Cut.LEFT_OUT);
    }

    /** Makes a column that is never made narrower. */
    public static Column of(String title) {
        return new Column(title, Cut.NEVER);
    }
}
