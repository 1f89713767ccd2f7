package jnvdocker.volume;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What is mounted where, from {@code /proc/self/mountinfo} (see proc_pid_mountinfo(5)). */
record MountInfo(List<Mount> mounts) {
    private static final Path FILE = Path.of("/proc/self/mountinfo");

    /** Id, parent, device, root, mount point, options; the rest of the line does not matter. */
    private static final Pattern LINE =
            Pattern.compile("[0-9]+ [0-9]+ [0-9]+:[0-9]+ [^ ]+ (/[^ ]*) ([^ ]+)( .*)?");

    /** Blank, tab, newline and backslash are written as three octal digits. */
    private static final Pattern ESCAPE = Pattern.compile("\\\\([0-7]{3})");

    /**
     * @param point where it is mounted
     * @param options those of the mount itself: {@code rw}, {@code noexec}
     */
    record Mount(String point, List<String> options) {
        Mount {
            options = List.copyOf(options);
        }

        boolean forbidsExecution() {
            return options.contains("noexec");
        }

        private boolean holds(String path) {
            return point.equals("/") || path.equals(point) || path.startsWith(point + "/");
        }
    }

    MountInfo {
        mounts = List.copyOf(mounts);
    }

    static MountInfo read() throws IOException {
        return parse(new String(Files.readAllBytes(FILE), StandardCharsets.UTF_8));
    }

    static MountInfo parse(String text) throws MalformedFileException {
        List<Mount> mounts = new ArrayList<>();
        for (String line : text.split("\n")) {
            Matcher matcher = LINE.matcher(line);
            if (!matcher.matches()) {
                throw new MalformedFileException("not a line of mountinfo: '" + line + "'");
            }
            List<String> options = List.of(matcher.group(2).split(","));
            mounts.add(new Mount(unescape(matcher.group(1)), options));
        }
        return new MountInfo(mounts);
    }

    /**
     * The mount a file is on: the deepest, and of several at one place the last, which covers the
     * others.
     *
     * @param path absolute, without symbolic links
     */
    Mount of(Path path) throws MalformedFileException {
        Mount best = null;
        for (Mount mount : mounts) {
            boolean deeper = best == null || mount.point().length() >= best.point().length();
            if (deeper && mount.holds(path.toString())) {
                best = mount;
            }
        }
        if (best == null) {
            throw new MalformedFileException("no mount holds " + path);
        }
        return best;
    }

    private static String unescape(String text) {
        return ESCAPE.matcher(text)
                .replaceAll(match -> Matcher.quoteReplacement(character(match.group(1))));
    }

    private static String character(String octal) {
        return String.valueOf((char) Integer.parseInt(octal, 8));
    }
}
