package jnvdocker.tests.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Calls the volume plugin as dockerd does, on a new connection each time. */
final class RawPlugin {
    private final UnixDomainSocketAddress socket;

    RawPlugin(Path socket) {
        this.socket = UnixDomainSocketAddress.of(socket);
    }

    /** Calls a verb, and fails when the answer has an Err. */
    void query(String verb, String volume, String id) throws IOException {
        String body = "{\"Name\":\"" + volume + "\",\"ID\":\"" + id + "\"}\n";
        String request =
                "POST /VolumeDriver."
                        + verb
                        + " HTTP/1.1\r\nHost: \r\nUser-Agent: Go-http-client/1.1\r\n"
                        + "Content-Length: "
                        + body.length()
                        + "\r\nAccept: application/vnd.docker.plugins.v1.2+json\r\n\r\n"
                        + body;
        String answer;
        try (SocketChannel channel = SocketChannel.open(socket)) {
            ByteBuffer bytes = ByteBuffer.wrap(request.getBytes(StandardCharsets.US_ASCII));
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            answer = answer(new DataInputStream(Channels.newInputStream(channel)));
        }
        if (!answer.contains("\"Err\":\"\"")) {
            throw new IOException(verb + " " + volume + ": " + answer);
        }
    }

    private static String answer(DataInputStream in) throws IOException {
        int length = 0;
        for (String line = line(in); !line.isEmpty(); line = line(in)) {
            if (line.toLowerCase(java.util.Locale.ROOT).startsWith("content-length:")) {
                length = Integer.parseInt(line.substring(line.indexOf(':') + 1).strip());
            }
        }
        return new String(in.readNBytes(length), StandardCharsets.UTF_8);
    }

    private static String line(DataInputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (char next = (char) in.readByte(); next != '\n'; next = (char) in.readByte()) {
            line.append(next);
        }
        return line.toString().strip();
    }
}
