package jnvdocker.words;

import java.util.Locale;

/** Text in ASCII alone: in a locale other than UTF-8 more would be unreadable. */
public final class Ascii {
    private static final int END = 0x80;

    private Ascii() {}

    /** Whether that is all of a locale: UTF-8 it is only if its name says so, {@code C.UTF-8}. */
    public static boolean isAll(String locale) {
        String name = locale.toUpperCase(Locale.ROOT);
        return !name.contains("UTF-8") && !name.contains("UTF8");
    }

    /** A text with other characters spelled out, as {@link Quote} does with harmful ones. */
    public static String of(String text) {
        if (text.chars().allMatch(character -> character < END)) {
            return text;
        }
        StringBuilder ascii = new StringBuilder(text.length());
        text.codePoints()
                .forEach(point -> {
                    if (point < END) {
                        ascii.append((char) point);
                    } else if (point == '…') {
                        ascii.append("...");
                    } else {
                        Quote.appendNumber(ascii, point);
                    }
                });
        return ascii.toString();
    }
}
