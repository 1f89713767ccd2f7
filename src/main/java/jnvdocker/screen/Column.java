package jnvdocker.screen;

/**
 * A column of a table.
 *
 * @param cut when it is made narrower, if the table is wider than the terminal
 */
public record Column(String title, Cut cut) {

    /** In which order columns are made narrower, and how far: to so many columns of text. */
    public enum Cut {
        /** A note, of which nothing may be left out: each goes below its row. */
        BELOW(0),
        /** What is the same in most rows. */
        FIRST(8),
        /** Text, whose beginning says the most. */
        NEXT(12),
        /** Names: as far as each can still be told from the others. */
        LAST(12),
        /** What is short, and what one types again. */
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
     * The last one of a table, for what there is to say of some rows. It never makes a table wider
     * than the terminal: where there is no room, a note has lines of its own.
     */
    public static Column note(String title) {
        return new Column(title, Cut.BELOW);
    }

    /** One that is never made narrower. */
    public static Column of(String title) {
        return new Column(title, Cut.NEVER);
    }
}
