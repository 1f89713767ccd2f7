package jnvdocker.process;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A line of mountinfo (see proc_pid_mountinfo(5)).
 *
 * @param device of its file system, {@code major:minor}
 * @param root the part of its file system that is mounted
 * @param point where it is mounted
 * @param options the options of the mount itself: {@code rw}, {@code noexec}
 * @param type of the file system: {@code cgroup2}
 * @param source the file system's source: {@code /dev/vda}, or any text for a file system without
 *     one
 * @param fileSystemOptions the options of the file system, the same for all of its mounts
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
     * it is, including those of non-ASCII letters.
     */
    private static final Pattern ESCAPE = Pattern.compile("\\\\([0-7]{3})");

    /** How the kernel marks a root that has been deleted in its file system. */
    private static final String DELETED = "//deleted";

    public Mount {
        options = List.copyOf(options);
        fileSystemOptions = List.copyOf(fileSystemOptions);
    }

    /** Returns empty if the text is not such a line. */
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

    /** Whether a path is at or below its mount point; another mount may still cover the path. */
    boolean holds(String path) {
        return point.equals("/") || path.equals(point) || path.startsWith(point + "/");
    }

    /** Returns the real path of a root that the kernel has written. */
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
