package jnvdocker.posix;

import com.sun.jna.LastErrorException;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** The manager that started this process as a service and waits for its notification: systemd. */
public final class ServiceManager {
    private static final int AF_UNIX = 1;
    private static final int SOCK_DGRAM = 2;
    private static final int SOCK_CLOEXEC = 0x80000;
    private static final int MSG_NOSIGNAL = 0x4000;
    private static final byte[] READY = "READY=1".getBytes(StandardCharsets.US_ASCII);

    private final String socket;

    /**
     * @param socket the value of {@code NOTIFY_SOCKET}; empty if no manager waits
     */
    public ServiceManager(String socket) {
        this.socket = socket;
    }

    /**
     * Reports that the service is ready.
     *
     * @throws PosixException when the manager cannot be reached; it then considers the start failed
     */
    public void ready() throws PosixException {
        if (socket.isEmpty()) {
            return;
        }
        try {
            int descriptor = LibC.INSTANCE.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            try {
                byte[] to = address();
                LibC.INSTANCE.sendto(descriptor, READY, READY.length, MSG_NOSIGNAL, to, to.length);
            } finally {
                LibC.INSTANCE.close(descriptor);
            }
        } catch (LastErrorException e) {
            throw Posix.failure("sendto NOTIFY_SOCKET=" + socket, e.getErrorCode());
        }
    }

    private byte[] address() {
        byte[] name = socket.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(Short.BYTES + name.length)
                .order(ByteOrder.nativeOrder())
                .putShort((short) AF_UNIX)
                .put(name)
                .array();
    }
}
