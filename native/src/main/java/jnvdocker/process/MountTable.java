package jnvdocker.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** What a process has mounted where: its mountinfo. */
public record MountTable(List<Mount> mounts) {
    private static final Path OURS = Path.of("/proc/self/mountinfo");

    public MountTable {
        mounts = List.copyOf(mounts);
    }

    /** What is mounted for this process, on the real machine whatever counts as {@code /}. */
    public static MountTable ofThisProcess() throws IOException {
        return parse(new String(Files.readAllBytes(OURS), StandardCharsets.UTF_8));
    }

    /** What is not a line of mountinfo is left out. */
    static MountTable parse(String text) {
        return new MountTable(
                Stream.of(text.split("\n")).flatMap(line -> Mount.parse(line).stream()).toList());
    }

    /**
     * The mount a file is on: the deepest, and of several at one place the last, which covers the
     * others.
     *
     * @param path absolute, without symbolic links
     */
    public Optional<Mount> holding(Path path) {
        return mounts.stream()
                .filter(mount -> mount.holds(path.toString()))
                .reduce((best, mount) ->
                        mount.point().length() >= best.point().length() ? mount : best);
    }
}
