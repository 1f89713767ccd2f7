package jnvdocker.words;

/**
 * Foreign text inside a message, from an image or a request: at most 80 characters of it, and
 * nothing that a terminal would act upon.
 */
public final class Quote {
    private static final int SHOWN = 80;

    private Quote() {}

    /** Between single quotes. */
    public static String quoted(String text) {
        return "'" + shown(text) + "'";
    }

    /** As it is. */
    public static String shown(String text) {
        StringBuilder shown = new StringBuilder();
        text.codePoints().limit(SHOWN).forEach(point -> append(shown, point));
        return text.codePointCount(0, text.length()) > SHOWN
                ? shown.append('…').toString()
                : shown.toString();
    }

    /** Whole lines, which may be of us and of others, with nothing that a terminal acts upon. */
    public static String lines(String text) {
        StringBuilder shown = new StringBuilder(text.length());
        text.codePoints()
                .forEach(point -> {
                    if (point == '\n') {
                        shown.append('\n');
                    } else {
                        append(shown, point);
                    }
                });
        return shown.toString();
    }

    /** Whole, on one line, with nothing that a terminal acts upon: a message of ours. */
    public static String whole(String text) {
        if (isPlain(text) || text.codePoints().allMatch(Quote::harmless)) {
            return text;
        }
        StringBuilder shown = new StringBuilder(text.length());
        text.codePoints().forEach(point -> append(shown, point));
        return shown.toString();
    }

    /** Whether a name is as most names are: ASCII that is printed. */
    private static boolean isPlain(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) < ' ' || text.charAt(i) > '~') {
                return false;
            }
        }
        return true;
    }

    private static void append(StringBuilder shown, int point) {
        if (harmless(point)) {
            shown.appendCodePoint(point);
        } else {
            appendNumber(shown, point);
        }
    }

    static void appendNumber(StringBuilder shown, int point) {
        shown.append("\\u{").append(Integer.toHexString(point)).append('}');
    }

    /** Format characters too: the ones that turn the direction of writing can fake a message. */
    private static boolean harmless(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.PRIVATE_USE,
                    Character.SURROGATE,
                    Character.UNASSIGNED ->
                    false;
            default -> true;
        };
    }
}
