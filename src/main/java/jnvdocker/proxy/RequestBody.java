package jnvdocker.proxy;

import jnvdocker.protocol.FrameMemory;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.regex.Pattern;

/** The body of a request that is read as a whole. */
final class RequestBody {
    /** More than any container could be started with: a program's arguments may take 2 MiB. */
    static final int MAX = 4 << 20;

    /** The body, the edited one, and what arrays have in reserve while they grow. */
    private static final int COPIES = 4;

    private static final int LONGEST_LINE = 8 << 10;
    private static final Pattern CHUNK = Pattern.compile("([0-9A-Fa-f]{1,8})[ \\t]*(;.*)?");

    private final InputStream in;
    private final FrameMemory.Account memory;
    private final ByteArrayOutputStream body = new ByteArrayOutputStream();

    private RequestBody(InputStream in, FrameMemory.Account memory) {
        this.in = in;
        this.memory = memory;
    }

    /**
     * Reads a body to its end.
     *
     * @throws RequestRefusal when it is too long, or is not as its head says
     */
    static byte[] read(RequestHead head, InputStream in, FrameMemory.Account memory)
            throws IOException {
        RequestBody body = new RequestBody(in, memory);
        try {
            List<String> length = head.values("Content-Length").toList();
            if (!length.isEmpty()) {
                body.append(Long.parseLong(length.getFirst()));
            } else if (head.values("Transfer-Encoding").count() > 0) {
                body.appendChunks();
            }
        } catch (EOFException e) {
            throw RequestRefusal.malformed("the request ends in its body");
        }
        return body.body.toByteArray();
    }

    private void append(long bytes) throws IOException {
        if (body.size() + bytes > MAX) {
            throw new RequestRefusal(
                    RequestRefusal.TOO_LARGE,
                    "the description of the container has more than " + MAX + " bytes",
                    "give it fewer labels or variables");
        }
        memory.take(bytes * COPIES);
        byte[] read = in.readNBytes((int) bytes);
        if (read.length < bytes) {
            throw new EOFException();
        }
        body.write(read);
    }

    private void appendChunks() throws IOException {
        while (true) {
            var chunk = CHUNK.matcher(line());
            if (!chunk.matches()) {
                throw RequestRefusal.malformed("a chunk of the request's body has no length");
            }
            long bytes = Long.parseLong(chunk.group(1), 16);
            if (bytes == 0) {
                break;
            }
            append(bytes);
            if (!line().isEmpty()) {
                throw RequestRefusal.malformed("a chunk of the request's body is too long");
            }
        }
        // Headers after the body, which nobody needs.
        for (int bytes = 0; bytes < LONGEST_LINE; ) {
            String trailer = line();
            if (trailer.isEmpty()) {
                return;
            }
            bytes += trailer.length();
        }
        throw RequestRefusal.malformed("too many headers follow the request's body");
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        while (true) {
            int next = in.read();
            if (next < 0) {
                throw new EOFException();
            }
            if (next == '\n' && !line.isEmpty() && line.charAt(line.length() - 1) == '\r') {
                return line.substring(0, line.length() - 1);
            }
            if (line.length() == LONGEST_LINE) {
                throw RequestRefusal.malformed("a line of the request's body is too long");
            }
            line.append((char) next);
        }
    }
}
