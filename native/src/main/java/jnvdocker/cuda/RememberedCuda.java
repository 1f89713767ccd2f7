package jnvdocker.cuda;

import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.RegularFile;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One line on disk, a driver and its answer: {@code 535.104.05 12.2}. */
record RememberedCuda(DriverVersion driver, CudaVersion cuda) {
    private static final int LIMIT = 100;
    private static final Pattern LINE =
            Pattern.compile("([0-9.]{3,40}) ([1-9][0-9]?\\.[0-9]{1,2})\n");

    /**
     * @return empty when there is no file
     * @throws IOException when the file contains something else
     */
    static Optional<RememberedCuda> read(Path file) throws IOException {
        Optional<byte[]> bytes = RegularFile.readOwn(file, LIMIT);
        return bytes.isPresent()
                ? Optional.of(parse(new String(bytes.get(), StandardCharsets.UTF_8), file))
                : Optional.empty();
    }

    private static RememberedCuda parse(String text, Path file) throws IOException {
        Matcher line = LINE.matcher(text);
        try {
            if (line.matches()) {
                return new RememberedCuda(
                        DriverVersion.parse(line.group(1)), CudaVersion.parse(line.group(2)));
            }
        } catch (IllegalArgumentException e) {
            // The exception below says so.
        }
        throw new IOException(file + " does not hold the versions of a driver and its CUDA");
    }

    /** Writes it beside the file, syncs it, and renames it. */
    void write(Path file) throws IOException {
        Path fresh = file.resolveSibling(file.getFileName() + ".new");
        Files.deleteIfExists(fresh);
        byte[] line = (driver + " " + cuda + "\n").getBytes(StandardCharsets.UTF_8);
        try (FileChannel channel =
                FileChannel.open(fresh, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(line));
            channel.force(true);
        }
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    }
}
