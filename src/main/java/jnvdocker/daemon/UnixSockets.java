package jnvdocker.daemon;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/** Tells a socket that is served from one whose server is gone. */
final class UnixSockets {
    private UnixSockets() {}

    static boolean answers(Path socket) {
        try (SocketChannel _ = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
