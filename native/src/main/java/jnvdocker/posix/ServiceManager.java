package jnvdocker.posix;

import com.sun.jna.LastErrorException;

import java.nio.charset.StandardCharsets;

/** The manager that started this process as a service and waits for its notification: systemd. */
public final class ServiceManager {
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
            int descriptor = Datagrams.socket();
            try {
                Datagrams.send(descriptor, READY, 0, Datagrams.address(socket));
            } finally {
                Posix.close(descriptor);
            }
        } catch (LastErrorException e) {
            throw Posix.failure("sendto NOTIFY_SOCKET=" + socket, e.getErrorCode());
        }
    }
}
