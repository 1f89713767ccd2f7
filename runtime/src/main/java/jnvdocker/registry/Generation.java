package jnvdocker.registry;

import jnvdocker.posix.RegularFile;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * How often the registry has been changed, in a file beside it, {@code registry.generation}. A
 * registry with another number is not the one that was written last: somebody has put a copy back,
 * or SQLite has dropped the end of its log, which it does without a word when a byte of that is
 * wrong.
 *
 * <p>The number is written before a change is committed and not synced: a daemon that is killed in
 * between has the next one take its registry for another, which does no harm; and what a loss of
 * power takes of either does not matter, since all leases of that boot are over.
 */
final class Generation implements AutoCloseable {
    static final String NAME = "registry.generation";

    /** A form of one length, so that a number never mixes with the one before. */
    private static final String FORM = "%019d\n";

    private static final Pattern NUMBER = Pattern.compile("[0-9]{19}\n");

    private final Path path;
    private final RandomAccessFile file;
    private long last;

    private Generation(Path path, RandomAccessFile file) {
        this.path = path;
        this.file = file;
    }

    /** Opens the file in a directory, or makes it. */
    static Generation open(Path directory) throws IOException {
        Path path = directory.resolve(NAME);
        RegularFile.check(path);
        if (!Files.exists(path)) {
            Files.newByteChannel(
                            path,
                            EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                            PosixFilePermissions.asFileAttribute(
                                    PosixFilePermissions.fromString("rw-------")))
                    .close();
        }
        // No channel: that would be closed for good by the interrupt of a thread that writes.
        return new Generation(path, new RandomAccessFile(path.toFile(), "rw"));
    }

    /** The number that was written last; empty when there is none that can be read. */
    OptionalLong read() throws IOException {
        byte[] bytes = new byte[FORM.formatted(0).length()];
        file.seek(0);
        int length = file.read(bytes);
        String text = new String(bytes, 0, Math.max(0, length), StandardCharsets.US_ASCII);
        if (!NUMBER.matcher(text).matches()) {
            return OptionalLong.empty();
        }
        last = Long.parseLong(text.strip());
        return OptionalLong.of(last);
    }

    /** The value when it was read or written last. */
    long last() {
        return last;
    }

    void write(long number) throws RegistryException {
        try {
            file.seek(0);
            file.write(FORM.formatted(number).getBytes(StandardCharsets.US_ASCII));
            last = number;
        } catch (IOException e) {
            throw new RegistryException(
                    "cannot write " + path + ": " + e.getMessage(),
                    "check that disk's space, health and mount options",
                    e);
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
