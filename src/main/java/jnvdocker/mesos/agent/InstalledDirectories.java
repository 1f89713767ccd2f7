package jnvdocker.mesos.agent;

import jnvdocker.posix.RegularFile;
import jnvdocker.posix.WholeFile;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The last options of {@code jnvdocker mesos install}, so that they need not be given again to it
 * or to {@code mesos flags}. A file of two lines in the state directory.
 *
 * @param launcherDir the directory that was installed
 * @param libexec the directory of the agent's own helpers
 */
public record InstalledDirectories(Path launcherDir, Path libexec) {
    /** Their default directory. */
    public static final InstalledDirectories USUAL =
            new InstalledDirectories(
                    Path.of("/usr/libexec/jnvdocker"), Path.of("/usr/libexec/mesos"));

    private static final String NAME = "mesos-install";
    private static final int LIMIT = 16 << 10;
    private static final int MODE = 0644;
    private static final Pattern LINE = Pattern.compile("/[^\\p{Cntrl}]{0,4095}");

    /**
     * @param state the state directory
     * @return empty before the first {@code mesos install}
     * @throws RefusedException when the file is damaged
     */
    public static Optional<InstalledDirectories> read(Path state)
            throws RefusedException, IOException {
        Path file = state.resolve(NAME);
        Optional<byte[]> bytes = RegularFile.readOwn(file, LIMIT);
        if (bytes.isEmpty()) {
            return Optional.empty();
        }
        List<String> lines = new String(bytes.get(), StandardCharsets.UTF_8).lines().toList();
        if (lines.size() != 2 || !lines.stream().allMatch(LINE.asMatchPredicate())) {
            throw new RefusedException(
                    file + " is damaged: it should have two lines, each an absolute path",
                    "remove it, then run 'jnvdocker mesos install --launcher-dir DIR"
                            + " --mesos-libexec DIR'");
        }
        return Optional.of(
                new InstalledDirectories(Path.of(lines.getFirst()), Path.of(lines.getLast())));
    }

    /** Writes the file, unless a path is relative, too long, or has control characters. */
    public void write(Path state) throws IOException {
        if (List.of(launcherDir, libexec).stream()
                .allMatch(path -> LINE.matcher(path.toString()).matches())) {
            String text = launcherDir + "\n" + libexec + "\n";
            WholeFile.write(
                    state.resolve(NAME),
                    text.getBytes(StandardCharsets.UTF_8),
                    WholeFile.Access.root(MODE));
        }
    }
}
