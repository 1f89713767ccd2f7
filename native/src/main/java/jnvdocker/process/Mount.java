package jnvdocker.process;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A line of mountinfo (see proc_pid_mountinfo(5)).
 *
 * @param device of its file system, {@code major:minor}
 * @param root what of its file system is mounted
 * @param point where it is mounted
 * @param options those of the mount itself: {@code rw}, {@code noexec}
 * @param type of the file system: {@code cgroup2}
 * @param source what the file system is of: {@code /dev/vda}, or any text for one that is of none
 * @param fileSystemOptions those of the file system, whichever mount of it this is
 */
public record Mount(
        String device,
        String root,
        String point,
        List<String> options,
        String type,
        String source,
        List<String> fileSystemOptions) {
    /** Some file systems write blanks into their options, which come last. */
    private static final Pattern LINE =
            Pattern.compile(
                    "[0-9]+ [0-9]+ ([0-9]+:[0-9]+) ([^ ]+) ([^ ]+) ([^ ]+)(?: [^ ]+)*? - "
                            + "([^ ]+) ([^ ]*) (.*)",
                    Pattern.DOTALL);

    /**
     * Blank, tab, newline and backslash are written as three octal digits, and every other byte as
     * it is, those of letters beyond ASCII too.
     */
    private static final Pattern ESCAPE = Pattern.compile("\\\\([0-7]{3})");

    /** How the kernel marks a root that has been deleted in its file system. */
    private static final String DELETED = "//deleted";

    public Mount {
        options = List.copyOf(options);
        fileSystemOptions = List.copyOf(fileSystemOptions);
    }

    /** Empty for what is not such a line. */
    static Optional<Mount> parse(String line) {
        Matcher matcher = LINE.matcher(line);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        return Optional.of(
                new Mount(
                        matcher.group(1),
                        root(matcher.group(2)),
                        unescape(matcher.group(3)),
                        List.of(matcher.group(4).split(",")),
                        matcher.group(5),
                        unescape(matcher.group(6)),
                        List.of(matcher.group(7).split(","))));
    }

    public boolean forbidsExecution() {
        return options.contains("noexec");
    }

    /** Whether a path is at or below its point, where another mount may still cover it. */
    boolean holds(String path) {
        return point.equals("/") || path.equals(point) || path.startsWith(point + "/");
    }

    /** Where what its file system has at a path is mounted; empty for what is not in this mount. */
    Optional<String> at(String path) {
        String above = root.equals("/") ? "" : root;
        if (!path.equals(root) && !path.startsWith(above + "/")) {
            return Optional.empty();
        }
        String below = path.equals(root) ? "" : path.substring(above.length());
        return Optional.of((point.equals("/") ? "" : point) + below);
    }

    /** A root as it is, from what the kernel writes. */
    static String root(String text) {
        return unescape(
                text.endsWith(DELETED)
                        ? text.substring(0, text.length() - DELETED.length())
                        : text);
    }

    private static String unescape(String text) {
        if (text.indexOf('\\') < 0) {
            return text;
        }
        return ESCAPE.matcher(text)
                .replaceAll(match -> Matcher.quoteReplacement(character(match.group(1))));
    }

    private static String character(String octal) {
        return String.valueOf((char) Integer.parseInt(octal, 8));
    }
}
