package jnvdocker.process;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A line of mountinfo (see proc_pid_mountinfo(5)).
 *
 * @param root what of its file system is mounted
 * @param point where it is mounted
 * @param type of the file system: {@code cgroup2}
 * @param options those of the file system, not of the mount
 */
record Mount(String root, String point, String type, List<String> options) {
    /** Some file systems write blanks into their options, which come last. */
    private static final Pattern LINE =
            Pattern.compile(
                    "[0-9]+ [0-9]+ [0-9]+:[0-9]+ ([^ ]+) ([^ ]+) [^ ]+(?: [^ ]+)*? - "
                            + "([^ ]+) [^ ]* (.*)",
                    Pattern.DOTALL);

    /** Blank, tab, newline and backslash are written as three octal digits. */
    private static final Pattern ESCAPE = Pattern.compile("\\\\([0-7]{3})");

    /** How the kernel marks a root that has been deleted in its file system. */
    private static final String DELETED = "//deleted";

    Mount {
        options = List.copyOf(options);
    }

    static List<Mount> parseAll(String text) {
        return Stream.of(text.split("\n")).flatMap(line -> parse(line).stream()).toList();
    }

    /** Empty for what is not such a line. */
    private static Optional<Mount> parse(String line) {
        Matcher matcher = LINE.matcher(line);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        return Optional.of(
                new Mount(
                        unescape(withoutMark(matcher.group(1))),
                        unescape(matcher.group(2)),
                        matcher.group(3),
                        List.of(matcher.group(4).split(","))));
    }

    private static String withoutMark(String root) {
        return root.endsWith(DELETED) ? root.substring(0, root.length() - DELETED.length()) : root;
    }

    private static String unescape(String text) {
        return ESCAPE.matcher(text)
                .replaceAll(match -> Matcher.quoteReplacement(character(match.group(1))));
    }

    private static String character(String octal) {
        return String.valueOf((char) Integer.parseInt(octal, 8));
    }
}
