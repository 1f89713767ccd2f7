package jnvdocker.tests.bench;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Sends a request to the daemon as the client does, without a process of its own, so that only the
 * plan is measured.
 */
final class RawClient {
    private static final int PROTOCOL_VERSION = 1;

    private final Path socket;
    private final List<String> variables;

    RawClient(Path socket, List<String> variables) {
        this.socket = socket;
        this.variables = variables;
    }

    /** Returns the arguments that docker would be run with. */
    List<String> plan(List<String> arguments) throws IOException {
        try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            DataOutputStream out = new DataOutputStream(Channels.newOutputStream(channel));
            byte[] request = request(arguments);
            ByteArrayOutputStream frame = new ByteArrayOutputStream();
            DataOutputStream header = new DataOutputStream(frame);
            header.writeByte('Q');
            header.writeInt(request.length);
            header.write(request);
            out.write(frame.toByteArray());
            DataInputStream in = new DataInputStream(Channels.newInputStream(channel));
            StringBuilder said = new StringBuilder();
            while (true) {
                char type = (char) in.readByte();
                byte[] payload = in.readNBytes(in.readInt());
                switch (type) {
                    case 'X' -> {
                        return strings(payload);
                    }
                    case 'E', 'O' -> said.append(new String(payload, StandardCharsets.UTF_8));
                    default -> throw new IOException("no plan: " + said);
                }
            }
        }
    }

    private byte[] request(List<String> arguments) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(PROTOCOL_VERSION);
        out.writeInt(0); // no terminal, no context
        out.writeInt(0); // no columns
        string(out, "/");
        strings(out, List.of("/usr/bin/docker"));
        strings(out, arguments);
        strings(out, variables);
        return bytes.toByteArray();
    }

    private static void strings(DataOutputStream out, List<String> texts) throws IOException {
        out.writeInt(texts.size());
        for (String text : texts) {
            string(out, text);
        }
    }

    private static void string(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static List<String> strings(byte[] payload) throws IOException {
        DataInputStream in = new DataInputStream(new java.io.ByteArrayInputStream(payload));
        List<String> texts = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            texts.add(new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8));
        }
        return texts;
    }
}
