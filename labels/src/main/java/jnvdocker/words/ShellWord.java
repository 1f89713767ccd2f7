package jnvdocker.words;

import java.util.regex.Pattern;

/** Words of a POSIX shell's command line. */
public final class ShellWord {
    /** A word that every shell takes as it is. */
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_.,:=@%+/-]+");

    private ShellWord() {}

    /** As one types it: between quotes only where a shell would not take it as it is. */
    public static String typed(String word) {
        return PLAIN.matcher(word).matches() ? word : quoted(word);
    }

    /** Between single quotes, so that a shell takes it as it is. */
    public static String quoted(String word) {
        return "'" + word.replace("'", "'\\''") + "'";
    }
}
