package jnvdocker.words;

/** Words of a POSIX shell's command line. */
public final class ShellWord {
    private ShellWord() {}

    /** Between single quotes, so that a shell takes it as it is. */
    public static String quoted(String word) {
        return "'" + word.replace("'", "'\\''") + "'";
    }
}
