package jnvdocker.oci.install;

import jnvdocker.program.SettledProgram;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Our {@code nvidia-container-runtime}, which an engine runs in place of runc or crun. */
public final class RuntimeProgram {
    /** Its file name in every directory: devcontainers' tools search for that name. */
    public static final String NAME = "nvidia-container-runtime";

    private static final int LIMIT = 4 << 20;
    private static final SettledProgram PROGRAM =
            new SettledProgram(
                    NAME,
                    "jnvdocker-runtime-settings-1",
                    List.of(
                            SettledProgram.PATH,
                            SettledProgram.PATH,
                            SettledProgram.SOCKET,
                            SettledProgram.SOCKET));

    private RuntimeProgram() {}

    /**
     * The settings of the program.
     *
     * @param real runc or crun, which it becomes
     * @param markers the directory in which a file is named like each container with GPUs
     * @param socket the daemon's
     * @param wake to which it reports deletions
     */
    public record Settings(Path real, Path markers, Path socket, Path wake) {}

    /** Whether these are its bytes, be it settled or not. */
    static boolean isOurs(byte[] program) {
        return PROGRAM.isOurs(program);
    }

    /**
     * Whether it lies there, be it settled or not; false as well when that cannot be determined.
     */
    static boolean isOursAt(String path) {
        try {
            return path.startsWith("/")
                    && bytes(Path.of(path)).filter(RuntimeProgram::isOurs).isPresent();
        } catch (IOException | InvalidPathException e) {
            return false;
        }
    }

    /**
     * @throws RefusedException when the program has no place for these, or a path is not plain or
     *     too long for it
     */
    static byte[] settle(byte[] program, Settings settings) throws RefusedException {
        return PROGRAM.settle(
                program,
                List.of(settings.real(), settings.markers(), settings.socket(), settings.wake()));
    }

    /** The settings of a program; empty when it is not ours, has none, or cannot be read. */
    public static Optional<Settings> read(Path program) {
        try {
            return bytes(program)
                    .flatMap(PROGRAM::settings)
                    .map(lines ->
                            new Settings(
                                    Path.of(lines.get(0)),
                                    Path.of(lines.get(1)),
                                    Path.of(lines.get(2)),
                                    Path.of(lines.get(3))));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Empty if it is not a regular file, or is too long to be ours. */
    static Optional<byte[]> bytes(Path program) throws IOException {
        if (!Files.isRegularFile(program)) {
            return Optional.empty();
        }
        try (InputStream in = Files.newInputStream(program)) {
            byte[] bytes = in.readNBytes(LIMIT + 1);
            return bytes.length > LIMIT ? Optional.empty() : Optional.of(bytes);
        }
    }
}
