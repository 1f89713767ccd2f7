package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * A socket before an engine's, as those that restrict what users may do: passes everything on, but
 * leaves some fields out of the {@code HostConfig} of a container that is to be created.
 */
public final class DockerProxy implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path directory = Directories.make("proxy");
    private final Path engine;
    private final List<String> dropped;
    private final ServerSocketChannel server;

    public DockerProxy(Path engine, String... dropped) {
        this.engine = engine;
        this.dropped = List.of(dropped);
        try {
            server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            server.bind(UnixDomainSocketAddress.of(socket()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().start(this::accept);
    }

    public Path socket() {
        return directory.resolve("docker.sock");
    }

    public String url() {
        return "unix://" + socket();
    }

    private void accept() {
        while (true) {
            try {
                SocketChannel client = server.accept();
                Thread.ofVirtual().start(() -> serve(client));
            } catch (IOException e) {
                return; // closed
            }
        }
    }

    /** One request each: what follows it on the same connection is a container's own stream. */
    private void serve(SocketChannel client) {
        try (client;
                SocketChannel behind = SocketChannel.open(UnixDomainSocketAddress.of(engine))) {
            InputStream in = new BufferedInputStream(Channels.newInputStream(client));
            OutputStream out = Channels.newOutputStream(behind);
            out.write(request(in).getBytes(StandardCharsets.ISO_8859_1));
            Thread.ofVirtual().start(() -> copy(in, out));
            copy(Channels.newInputStream(behind), Channels.newOutputStream(client));
        } catch (IOException e) {
            // One end has closed it.
        }
    }

    private static void copy(InputStream in, OutputStream out) {
        try {
            for (int next = in.read(); next >= 0; next = in.read()) {
                out.write(next);
            }
        } catch (IOException e) {
            // One end has closed it.
        }
    }

    private String request(InputStream in) throws IOException {
        String first = line(in);
        StringBuilder head = new StringBuilder();
        int length = 0;
        boolean upgrade = false;
        for (String line = line(in); !line.isEmpty(); line = line(in)) {
            upgrade |= line.regionMatches(true, 0, "upgrade:", 0, 8);
            if (line.regionMatches(true, 0, "content-length:", 0, 15)) {
                length = Integer.parseInt(line.substring(15).strip());
            } else {
                head.append(line).append("\r\n");
            }
        }
        String body = new String(in.readNBytes(length), StandardCharsets.ISO_8859_1);
        if (first.contains("/containers/create")) {
            ObjectNode json = (ObjectNode) JSON.readTree(body);
            ((ObjectNode) json.get("HostConfig")).remove(dropped);
            body = JSON.writeValueAsString(json);
        }
        return first
                + "\r\n"
                + head
                + (upgrade ? "" : "Connection: close\r\n")
                + "Content-Length: "
                + body.length()
                + "\r\n\r\n"
                + body;
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new IOException("closed");
            }
            line.append((char) next);
        }
        return line.toString().strip();
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Directories.remove(directory);
    }
}
