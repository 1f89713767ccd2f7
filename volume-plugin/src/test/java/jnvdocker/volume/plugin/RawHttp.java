package jnvdocker.volume.plugin;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * An HTTP client on a Unix socket; the test decides every byte that it sends. It connects again
 * when an answer has ended its connection.
 */
final class RawHttp implements AutoCloseable {
    static final String ACCEPT = "application/vnd.docker.plugins.v1.2+json";

    private final Path socket;
    private SocketChannel channel;
    private OutputStream out;
    private InputStream in;
    private boolean over;

    /** Header names are in lower case. */
    record Answer(int status, Map<String, String> headers, String body) {}

    RawHttp(Path socket) throws IOException {
        this.socket = socket;
        connect();
    }

    private void connect() throws IOException {
        channel = SocketChannel.open(UnixDomainSocketAddress.of(socket));
        out = Channels.newOutputStream(channel);
        in = new BufferedInputStream(Channels.newInputStream(channel));
    }

    /** A request as dockerd 28 sends it, with its empty Host. */
    static String post(String verb, String body) {
        return "POST /"
                + verb
                + " HTTP/1.1\r\nHost: \r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: "
                + body.length()
                + "\r\nAccept: "
                + ACCEPT
                + "\r\n\r\n"
                + body;
    }

    RawHttp send(String text) throws IOException {
        if (over) {
            close();
            connect();
            over = false;
        }
        out.write(text.getBytes(StandardCharsets.UTF_8));
        return this;
    }

    Answer query(String verb, String body) throws IOException {
        return send(post(verb, body)).answer();
    }

    Answer answer() throws IOException {
        String[] status = line().split(" ", 3);
        Map<String, String> headers = new TreeMap<>();
        for (String line = line(); !line.isEmpty(); line = line()) {
            String[] header = line.split(": *", 2);
            headers.put(header[0].toLowerCase(Locale.ROOT), header[1]);
        }
        over = headers.getOrDefault("connection", "").equals("close");
        int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
        String body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
        return new Answer(Integer.parseInt(status[1]), headers, body);
    }

    /** Whether the server has closed the connection; waits until it does or sends something. */
    boolean isClosed() {
        try {
            return in.read() < 0;
        } catch (IOException e) {
            return true;
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new EOFException("the server closed the connection after '" + line + "'");
            }
            line.append((char) next);
        }
        return line.toString().strip();
    }
}
