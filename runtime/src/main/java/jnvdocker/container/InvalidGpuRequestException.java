package jnvdocker.container;

import jnvdocker.labels.RefusedException;

/**
 * A request for GPUs that can't be understood. The message begins with the option or variable it
 * came from, quotes the part that is wrong and says which spelling would be right.
 */
public final class InvalidGpuRequestException extends RefusedException {
    private static final long serialVersionUID = 1L;
    private static final int LONGEST_QUOTE = 80;

    public InvalidGpuRequestException(String message) {
        super(message);
    }

    /** What was typed, short enough for a line and without anything a terminal would obey. */
    static String quote(String typed) {
        String cut =
                typed.length() <= LONGEST_QUOTE ? typed : typed.substring(0, LONGEST_QUOTE) + "...";
        return "'" + cut.replaceAll("[\\p{C}\\u2028\\u2029]", "?") + "'";
    }
}
