package jnvdocker.posix;

import com.sun.jna.LastErrorException;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Unix sockets for datagrams, which Java does not have. */
final class Datagrams {
    static final int AF_UNIX = 1;
    static final int MSG_DONTWAIT = 0x40;
    private static final int MSG_NOSIGNAL = 0x4000;
    private static final int SOCK_DGRAM = 2;
    private static final int SOCK_CLOEXEC = 0x80000;

    private Datagrams() {}

    /** Returns the descriptor of a new one. */
    static int socket() throws LastErrorException {
        return LibC.INSTANCE.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    }

    static void send(int socket, byte[] datagram, int flags, byte[] to) throws LastErrorException {
        LibC.INSTANCE.sendto(
                socket, datagram, datagram.length, flags | MSG_NOSIGNAL, to, to.length);
    }

    /** A {@code sockaddr_un} without a final NUL. */
    static byte[] address(String path) {
        byte[] name = path.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(Short.BYTES + name.length)
                .order(ByteOrder.nativeOrder())
                .putShort((short) AF_UNIX)
                .put(name)
                .array();
    }
}
