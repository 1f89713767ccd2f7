package jnvdocker.tests.world;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** Sends requests over HTTP, byte by byte as given. */
public final class Http {
    private Http() {}

    /** The status and the body of an answer. */
    public record Answer(int status, String body) {}

    /** Requests a page as {@code localhost}. */
    public static Answer get(SocketAddress address, String path) {
        return query(address, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }

    /** Sends a request. */
    public static Answer query(SocketAddress address, String request) {
        try (SocketChannel channel = SocketChannel.open(address)) {
            send(channel, request);
            InputStream in = Channels.newInputStream(channel);
            String all = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            int status = Integer.parseInt(all.substring("HTTP/1.1 ".length()).substring(0, 3));
            return new Answer(status, all.substring(all.indexOf("\r\n\r\n") + 4));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends a part of a request. */
    public static void send(SocketChannel channel, String text) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }
}
