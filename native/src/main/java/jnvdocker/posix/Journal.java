package jnvdocker.posix;

import com.sun.jna.LastErrorException;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The journal of systemd, in its own protocol, which has fields: <a
 * href="https://systemd.io/JOURNAL_NATIVE_PROTOCOL/">Native Journal Protocol</a>.
 */
public final class Journal {
    private static final Path SOCKET = Path.of("/run/systemd/journal/socket");
    private static final Path STANDARD_ERROR = Path.of("/proc/self/fd/2");

    private final int descriptor;
    private final byte[] address;

    private Journal(int descriptor, byte[] address) {
        this.descriptor = descriptor;
        this.address = address;
    }

    /**
     * The journal that this process's standard error goes to; empty if that goes elsewhere.
     *
     * @param stream the value of {@code JOURNAL_STREAM}: the device and inode that systemd has made
     *     standard error
     */
    public static Optional<Journal> of(String stream) {
        return isStandardError(stream) ? open(SOCKET) : Optional.empty();
    }

    /** A variable alone proves nothing: a shell that the service starts inherits it as well. */
    private static boolean isStandardError(String stream) {
        if (stream.isEmpty()) {
            return false;
        }
        try {
            Map<String, Object> status = Files.readAttributes(STANDARD_ERROR, "unix:dev,ino");
            return stream.equals(status.get("dev") + ":" + status.get("ino"));
        } catch (IOException e) {
            return false;
        }
    }

    /** The one that listens there. */
    static Optional<Journal> open(Path socket) {
        try {
            return Optional.of(
                    new Journal(Datagrams.socket(), Datagrams.address(socket.toString())));
        } catch (LastErrorException e) {
            return Optional.empty();
        }
    }

    /**
     * Sends an entry, without waiting for a journal that is behind.
     *
     * @param fields by names of capitals, digits and underscores, {@code MESSAGE} among them
     * @return whether the journal has it
     */
    public boolean send(Map<String, String> fields) {
        try {
            Datagrams.send(descriptor, entry(fields), Datagrams.MSG_DONTWAIT, address);
            return true;
        } catch (LastErrorException e) {
            return false;
        }
    }

    /** Writes lengths: a value may contain line ends, and must not become a field of its own. */
    private static byte[] entry(Map<String, String> fields) {
        ByteArrayOutputStream entry = new ByteArrayOutputStream();
        fields.forEach((name, value) -> {
            byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            entry.writeBytes((name + "\n").getBytes(StandardCharsets.US_ASCII));
            entry.writeBytes(
                    ByteBuffer.allocate(Long.BYTES)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .putLong(bytes.length)
                            .array());
            entry.writeBytes(bytes);
            entry.write('\n');
        });
        return entry.toByteArray();
    }
}
