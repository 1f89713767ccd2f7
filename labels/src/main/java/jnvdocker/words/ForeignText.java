package jnvdocker.words;

import java.util.Optional;

/**
 * Text that others have chosen, as it is kept: the names of containers, images, users, pods, tasks
 * and programs. A container's name may have a million characters, and a row of the registry is kept
 * for a year. So each record that has such a text bounds it in its constructor, and spells out what
 * a terminal would act upon; a text that was cut ends with {@code …}. To bound a text twice changes
 * nothing.
 */
public final class ForeignText {
    /** The most characters of a name. */
    public static final int NAME = 255;

    /** The most characters of a line of text: a reason, or an evidence. */
    public static final int LINE = 2000;

    /** The most characters of a path: Linux knows no longer one. */
    public static final int PATH = 4096;

    private static final String MORE = "…";

    private ForeignText() {}

    /** Returns a name, of {@value #NAME} characters at most. */
    public static String name(String name) {
        return bounded(name, NAME);
    }

    /** Returns a name that may be missing, likewise. */
    public static Optional<String> name(Optional<String> name) {
        return name.map(ForeignText::name);
    }

    /** Returns a line, of {@value #LINE} characters at most. */
    public static String line(String line) {
        return bounded(line, LINE);
    }

    private static String bounded(String text, int most) {
        return cut(Quote.whole(beginning(text, most + 1)), most);
    }

    /** Returns a text as it is, of that many characters at most. */
    public static String cut(String text, int most) {
        return text.length() <= most ? text : beginning(text, most - MORE.length()) + MORE;
    }

    /**
     * Returns the beginning of a text, of that many characters at most, without a mark that it was
     * cut. A character of two parts is whole, or left out.
     */
    public static String beginning(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        boolean parted =
                Character.isHighSurrogate(text.charAt(most - 1))
                        && Character.isLowSurrogate(text.charAt(most));
        return text.substring(0, parted ? most - 1 : most);
    }
}
