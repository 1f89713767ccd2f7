package jnvdocker.tests.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Asks the volume plugin as dockerd does, on one connection that is kept. */
final class RawPlugin implements AutoCloseable {
    private final SocketChannel channel;
    private final DataInputStream in;

    RawPlugin(Path socket) throws IOException {
        channel = SocketChannel.open(UnixDomainSocketAddress.of(socket));
        in = new DataInputStream(Channels.newInputStream(channel));
    }

    /** Fails when the answer has an Err. */
    void ask(String verb, String volume, String id) throws IOException {
        String body = "{\"Name\":\"" + volume + "\",\"ID\":\"" + id + "\"}\n";
        String request =
                "POST /VolumeDriver."
                        + verb
                        + " HTTP/1.1\r\nHost: \r\nUser-Agent: Go-http-client/1.1\r\n"
                        + "Content-Length: "
                        + body.length()
                        + "\r\nAccept: application/vnd.docker.plugins.v1.2+json\r\n\r\n"
                        + body;
        ByteBuffer bytes = ByteBuffer.wrap(request.getBytes(StandardCharsets.US_ASCII));
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
        String answer = answer();
        if (!answer.contains("\"Err\":\"\"")) {
            throw new IOException(verb + " " + volume + ": " + answer);
        }
    }

    private String answer() throws IOException {
        int length = 0;
        for (String line = line(); !line.isEmpty(); line = line()) {
            if (line.toLowerCase(java.util.Locale.ROOT).startsWith("content-length:")) {
                length = Integer.parseInt(line.substring(line.indexOf(':') + 1).strip());
            }
        }
        return new String(in.readNBytes(length), StandardCharsets.UTF_8);
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (char next = (char) in.readByte(); next != '\n'; next = (char) in.readByte()) {
            line.append(next);
        }
        return line.toString().strip();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
