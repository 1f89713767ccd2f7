package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
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

    /** Returns the mounts of a process. */
    public static MountTable of(ProcessId process) throws IOException {
        Path file = Path.of("/proc", Integer.toString(process.pid()), "mountinfo");
        return parse(new String(Files.readAllBytes(file), StandardCharsets.UTF_8));
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

    /**
     * Returns the place of a directory as seen from here; empty when its file system, or that part
     * of it, is not mounted here.
     */
    public Optional<Path> find(MountedDirectory directory) {
        return mounts.stream()
                .filter(mount -> mount.device().equals(directory.device()))
                .flatMap(mount -> mount.at(directory.path()).stream())
                .map(Path::of)
                // The mount is not covered by another.
                .filter(path -> spell(path).filter(directory::equals).isPresent())
                .findFirst();
    }
}
