package jnvdocker.posix;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;

/** A Unix socket that receives short texts from root, without an answer. */
public final class WakeSocket implements AutoCloseable {
    private static final int SOL_SOCKET = 1;
    private static final int SO_RCVTIMEO = 20;
    private static final int PATH_LIMIT = 108;
    private static final int TEXT_LIMIT = 1024;
    private static final int OURS = 0600;

    private final int socket;
    private final SocketFile name;
    private final Object lock = new Object();
    private boolean closed;

    private WakeSocket(int socket, SocketFile name) {
        this.socket = socket;
        this.name = name;
    }

    /**
     * @param patience the longest time that {@link #receive} waits
     * @throws IOException when the name is taken, or too long
     */
    public static WakeSocket bind(Path path, Duration patience) throws IOException {
        byte[] bytes = path.toString().getBytes(StandardCharsets.UTF_8);
        if (bytes.length >= PATH_LIMIT) {
            throw new FileSystemException(path.toString(), null, "too long for a socket's name");
        }
        // Whether a process still serves it cannot be determined; the holder of the directory's
        // lock owns it.
        Files.deleteIfExists(path);
        byte[] address = Datagrams.address(path.toString());
        int socket = -1;
        try (Memory limit = new Memory(16)) {
            socket = Datagrams.socket();
            limit.setLong(0, patience.toSeconds());
            limit.setLong(8, patience.toNanosPart() / 1000);
            LibC.INSTANCE.setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, limit, 16);
            LibC.INSTANCE.bind(socket, address, address.length);
            Posix.chmod(path, OURS);
            return new WakeSocket(socket, SocketFile.of(path));
        } catch (LastErrorException e) {
            closeIfOpen(socket);
            throw Posix.failure("bind " + path, e.getErrorCode());
        } catch (IOException e) {
            closeIfOpen(socket);
            throw e;
        }
    }

    private static void closeIfOpen(int socket) {
        if (socket >= 0) {
            Posix.close(socket);
        }
    }

    /**
     * Returns the next text; empty when none has come in time.
     *
     * @throws IOException when the socket is closed
     */
    public Optional<String> receive() throws IOException {
        byte[] bytes = new byte[TEXT_LIMIT];
        synchronized (lock) {
            if (closed) {
                throw new IOException("the socket is closed");
            }
            try {
                int length = (int) LibC.INSTANCE.recv(socket, bytes, bytes.length, 0);
                byte[] text = Arrays.copyOf(bytes, length);
                return Optional.of(new String(text, StandardCharsets.UTF_8));
            } catch (LastErrorException e) {
                int errno = e.getErrorCode();
                if (errno == Errno.EAGAIN || errno == Errno.EINTR) {
                    return Optional.empty();
                }
                throw Posix.failure("recv", errno);
            }
        }
    }

    /** Waits for a receive that is under way. */
    @Override
    public void close() throws IOException {
        synchronized (lock) {
            if (!closed) {
                closed = true;
                Posix.close(socket);
                name.delete();
            }
        }
    }
}
