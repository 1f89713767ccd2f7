package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;

/** A TCP port of this host, for a daemon under test. */
public final class LoopbackPort {
    private LoopbackPort() {}

    /** Returns one on which nobody listens now. */
    public static InetSocketAddress free() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
