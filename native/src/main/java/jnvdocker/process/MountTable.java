package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** The mounts of a process: its mountinfo. */
public record MountTable(List<Mount> mounts) {
    private static final Path OURS = Path.of("/proc/self/mountinfo");

    public MountTable {
        mounts = List.copyOf(mounts);
    }

    /** Returns the mounts of this process, on the real machine, whatever counts as {@code /}. */
    public static MountTable ofThisProcess() throws IOException {
        return parse(new String(Files.readAllBytes(OURS), StandardCharsets.UTF_8));
    }

    /**
     * Whether a process has such a mount. A process with the right to mount decides how many mounts
     * it has; one at a time is kept.
     */
    public static boolean has(ProcessId process, Predicate<Mount> wanted) throws IOException {
        Path file = Path.of("/proc", Integer.toString(process.pid()), "mountinfo");
        try (BufferedReader lines =
                new BufferedReader(
                        new InputStreamReader(
                                Files.newInputStream(file), StandardCharsets.UTF_8))) {
            return lines.lines().flatMap(line -> Mount.parse(line).stream()).anyMatch(wanted);
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /** Lines that are not of mountinfo's form are skipped. */
    static MountTable parse(String text) {
        return new MountTable(
                Stream.of(text.split("\n")).flatMap(line -> Mount.parse(line).stream()).toList());
    }

    /**
     * Returns the mount that a file is on: the deepest, and of several at one place the last, which
     * covers the others.
     *
     * @param path absolute, without symbolic links
     */
    public Optional<Mount> holding(Path path) {
        return mounts.stream()
                .filter(mount -> mount.holds(path.toString()))
                .reduce((best, mount) ->
                        mount.point().length() >= best.point().length() ? mount : best);
    }

    /**
     * Returns the spelling of the root of a mount of this directory.
     *
     * @param directory absolute, without symbolic links
     */
    Optional<MountedDirectory> spell(Path directory) {
        return holding(directory)
                .map(mount ->
                        new MountedDirectory(
                                mount.device(),
                                Path.of(mount.root())
                                        .resolve(Path.of(mount.point()).relativize(directory))
                                        .toString()));
    }
}
