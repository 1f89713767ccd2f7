package jnvdocker.protocol;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** The beginning of a connection. */
public sealed interface Opening {

    /** A client of ours sends a request. */
    record Question(ClientRequest request) implements Opening {}

    /**
     * The client speaks HTTP.
     *
     * @param begun the first bytes
     */
    record Http(ByteBuffer begun) implements Opening {}

    /** Takes over a connection, and closes it and its memory in the end. */
    @FunctionalInterface
    interface Taker {
        /**
         * @throws IOException when it does not
         */
        void take(SocketChannel channel, FrameMemory.Account memory) throws IOException;
    }

    /**
     * Whether a request of HTTP begins so: with a method in capitals. In a frame the second and the
     * third would be the highest bytes of its length, which is far too long then. So QUERY is a
     * method, though it begins like a question.
     */
    static boolean isHttp(byte[] begun) {
        return isCapital(begun[0]) && isCapital(begun[1]) && isCapital(begun[2]);
    }

    private static boolean isCapital(byte letter) {
        return letter >= 'A' && letter <= 'Z';
    }
}
