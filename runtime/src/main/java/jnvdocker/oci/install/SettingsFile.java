package jnvdocker.oci.install;

import jnvdocker.posix.RegularFile;
import jnvdocker.posix.WholeFile;
import jnvdocker.program.TrustedDirectory;
import jnvdocker.words.FailedException;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The file of an engine's configuration, which others write, too, and which is never half there.
 */
final class SettingsFile {
    private static final int LIMIT = 1 << 20;
    private static final int MODE = 0644;

    private SettingsFile() {}

    /**
     * Its text; empty when there is none.
     *
     * @throws RefusedException when it is no text of a configuration's length
     */
    static String read(Path file) throws IOException, RefusedException {
        try {
            byte[] bytes = RegularFile.read(file, LIMIT).orElse(new byte[0]);
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (FailedException e) {
            throw new RefusedException(
                    e.refusal().followedBy(", or name another one with --config"));
        } catch (CharacterCodingException e) {
            throw new RefusedException(
                    file + " is not UTF-8", "fix it, or name another one with --config");
        }
    }

    /**
     * Returns the file itself, if it could be written now.
     *
     * @throws RefusedException as {@link #write} does
     */
    static Path check(Path file, String before) throws IOException, RefusedException {
        Path real = Files.exists(file) ? file.toRealPath() : file;
        TrustedDirectory.check(real.getParent());
        if (!read(file).equals(before)) {
            throw new RefusedException(file + " was just changed by another program", "try again");
        }
        return real;
    }

    /**
     * Writes another text, with mode and owner of the old one. A link to it stays one.
     *
     * @param before its text when that was decided
     * @throws RefusedException when it says something else by now, or others than root could do the
     *     same
     */
    static void write(Path file, String before, String after) throws IOException, RefusedException {
        Path real = check(file, before);
        Files.createDirectories(real.getParent());
        WholeFile.write(
                real,
                after.getBytes(StandardCharsets.UTF_8),
                Files.exists(real) ? WholeFile.Access.of(real) : WholeFile.Access.root(MODE));
    }
}
