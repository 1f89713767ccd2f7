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

    /**
     * How the root of a mount of this folder would be spelled.
     *
     * @param folder absolute, without symbolic links
     */
    Optional<MountedFolder> spell(Path folder) {
        return holding(folder)
                .map(mount ->
                        new MountedFolder(
                                mount.device(),
                                Path.of(mount.root())
                                        .resolve(Path.of(mount.point()).relativize(folder))
                                        .toString()));
    }

    /**
     * Where a folder is to be found from here; empty when its file system is not mounted here, or
     * not as much of it.
     */
    public Optional<Path> find(MountedFolder folder) {
        return mounts.stream()
                .filter(mount -> mount.device().equals(folder.device()))
                .flatMap(mount -> mount.at(folder.path()).stream())
                .map(Path::of)
                // Not covered by another.
                .filter(path -> spell(path).filter(folder::equals).isPresent())
                .findFirst();
    }
}
