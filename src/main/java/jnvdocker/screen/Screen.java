package jnvdocker.screen;

import jnvdocker.protocol.ClientRequest;

import java.util.regex.Pattern;

/**
 * What a command's output is read on.
 *
 * @param columns the terminal's width; 0 when there is none, or it is not known
 * @param rows its height, likewise
 * @param isTerminal whether the output goes to a terminal
 * @param hasColours whether colours are shown and wanted
 */
public record Screen(int columns, int rows, boolean isTerminal, boolean hasColours) {
    /** A file, or another program. */
    public static final Screen NONE = new Screen(0, 0, false, false);

    private static final Pattern COLOUR = Pattern.compile("\u001b\\[[0-9]+m");
    private static final Pattern ROWS = Pattern.compile("[0-9]{1,4}");

    /** The width in a request may be that of standard error, where no table goes. */
    public static Screen of(ClientRequest request) {
        if (!request.terminals().out()) {
            return NONE;
        }
        String terminal = request.variable("TERM");
        String rows = request.variable("LINES");
        return new Screen(
                request.columns(),
                ROWS.matcher(rows).matches() ? Integer.parseInt(rows) : 0,
                true,
                request.variable("NO_COLOR").isEmpty()
                        && !terminal.isEmpty()
                        && !terminal.equals("dumb"));
    }

    /** How many columns a text takes. */
    public static int width(String text) {
        String shown = COLOUR.matcher(text).replaceAll("");
        return shown.codePointCount(0, shown.length());
    }

    /** A text of so many columns at most, which ends in … when something is left out. */
    static String shortened(String text, int width) {
        return width(text) <= width
                ? text
                : text.substring(0, text.offsetByCodePoints(0, width - 1)).stripTrailing() + "…";
    }

    /** A text in its colour, if colours are shown. */
    String coloured(String text, Colour colour) {
        return hasColours ? colour.of(text) : text;
    }
}
