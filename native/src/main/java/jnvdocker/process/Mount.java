package jnvdocker.process;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A line of mountinfo (see proc_pid_mountinfo(5)).
 *
 * @param root what of its file system is mounted
 * @param point where it is mounted
 * @param options those of the mount itself: {@code rw}, {@code noexec}
 * @param type of the file system: {@code cgroup2}
 * @param fileSystemOptions those of the file system, whichever mount of it this is
 */
public record Mount(
        String root,
        String point,
        List<String> options,
        String type,
        List<String> fileSystemOptions) {
    /** Some file systems write blanks into their options, which come last. */
    private static final Pattern LINE =
            Pattern.compile(
                    "[0-9]+ [0-9]+ [0-9]+:[0-9]+ ([^ ]+) ([^ ]+) ([^ ]+)(?: [^ ]+)*? - "
                            + "([^ ]+) [^ ]* (.*)",
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
                        unescape(withoutMark(matcher.group(1))),
                        unescape(matcher.group(2)),
                        List.of(matcher.group(3).split(",")),
                        matcher.group(4),
                        List.of(matcher.group(5).split(","))));
    }

    public boolean forbidsExecution() {
        return options.contains("noexec");
    }

    /** Whether a path is at or below its point, where another mount may still cover it. */
    boolean holds(String path) {
        return point.equals("/") || path.equals(point) || path.startsWith(point + "/");
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
