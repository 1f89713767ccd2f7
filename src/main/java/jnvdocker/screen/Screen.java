package jnvdocker.screen;

import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Ascii;

import java.util.regex.Pattern;

/**
 * The destination of a command's output.
 *
 * @param columns the terminal's width; 0 if there is none
 * @param rows its height; 0 if it is unknown, too
 * @param isTerminal whether the output goes to a terminal
 * @param hasColours whether colours are shown and wanted
 * @param isAscii whether only ASCII can be read there
 */
public record Screen(
        int columns, int rows, boolean isTerminal, boolean hasColours, boolean isAscii) {
    /** A file, or another program. */
    public static final Screen NONE = new Screen(0, 0, false, false, false);

    /** For a terminal that does not report its width: most are at least this wide. */
    private static final int USUAL_COLUMNS = 80;

    private static final Pattern COLOUR = Pattern.compile("\u001b\\[[0-9]+m");
    private static final Pattern ROWS = Pattern.compile("[0-9]{1,4}");

    /** The width in a request may be that of standard error, which gets no tables. */
    public static Screen of(ClientRequest request) {
        if (!request.terminals().out()) {
            return new Screen(0, 0, false, false, request.readsAsciiAlone());
        }
        String terminal = request.variable("TERM");
        String rows = request.variable("LINES");
        return new Screen(
                request.columns() == 0 ? USUAL_COLUMNS : request.columns(),
                ROWS.matcher(rows).matches() ? Integer.parseInt(rows) : 0,
                true,
                request.variable("NO_COLOR").isEmpty()
                        && !terminal.isEmpty()
                        && !terminal.equals("dumb"),
                request.readsAsciiAlone());
    }

    /** Returns how many columns a text takes. */
    public static int width(String text) {
        return CharacterWidth.of(COLOUR.matcher(text).replaceAll(""));
    }

    /** Returns a text in a form that can be read here. */
    public String readable(String text) {
        return isAscii ? Ascii.of(text) : text;
    }

    /** Returns the mark of an omission. */
    String ellipsis() {
        return readable("…");
    }

    /** Returns a text of at most that many columns, which marks an omission. */
    String shortened(String text, int width) {
        return width(text) <= width
                ? text
                : CharacterWidth.beginning(text, width - width(ellipsis())).stripTrailing()
                        + ellipsis();
    }

    /** Returns a text in its colour, if colours are shown. */
    public String coloured(String text, Colour colour) {
        return hasColours ? colour.of(text) : text;
    }
}
