package jnvdocker.command.complete;

import jnvdocker.words.Quote;

import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The answer to a shell: a candidate on each line, a tab and its description behind it; then the
 * other ways in which the shell completes the word, each a line that begins with a colon.
 *
 * <p>Users choose the names of containers, and engines may be anybody's: a candidate has only
 * characters that mean nothing to a shell, and a description nothing that a terminal acts upon.
 */
final class Answer {
    /** Lets docker complete the word. {@code native/client/jnvdocker.c} has this text, too. */
    static final String DOCKER = ":docker";

    static final String FILES = ":files";
    static final String DIRECTORIES = ":directories";

    /** Completes a command line of its own, which begins at the word of that number. */
    static final String COMMAND = ":command";

    private static final int MOST = 500;
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_.,:=@+/-]{1,255}");

    private final String typed;
    private final StringBuilder lines = new StringBuilder();
    private final StringBuilder ways = new StringBuilder();
    private final Set<String> seen = new HashSet<>();

    /**
     * @param typed the beginning of the word; candidates that do not begin with it are left out
     */
    Answer(String typed) {
        this.typed = typed;
    }

    void add(String candidate, String description) {
        if (candidate.startsWith(typed)
                && PLAIN.matcher(candidate).matches()
                && seen.size() < MOST
                && seen.add(candidate)) {
            lines.append(candidate);
            if (!description.isEmpty()) {
                lines.append('\t').append(Quote.shown(description));
            }
            lines.append('\n');
        }
    }

    void way(String way) {
        ways.append(way).append('\n');
    }

    String text() {
        return lines.toString() + ways;
    }
}
