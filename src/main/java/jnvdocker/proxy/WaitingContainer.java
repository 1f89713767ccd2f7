package jnvdocker.proxy;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;

import jnvdocker.json.ForeignJson;
import jnvdocker.lease.ClaimNames;
import jnvdocker.protocol.Deadlines;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Finds out from the engine whether a container has the label by which its start waits for GPUs.
 * Whether that counts is decided by the daemon.
 */
final class WaitingContainer {
    private static final Logger LOG = LoggerFactory.getLogger(WaitingContainer.class);
    private static final JsonFactory JSON = ForeignJson.factory().build();
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int LONGEST_HEAD = 64 << 10;
    private static final int CR_LF_CR_LF = 0x0d0a0d0a;
    private static final String FOUND = "HTTP/1.0 200 ";
    private static final Pattern ID = Pattern.compile("[0-9a-f]{64}");
    private static final Set<String> NAMES = Set.of("Id", "Running", ClaimNames.WAIT_LABEL);

    private final Path engine;
    private final Deadlines deadlines;

    /**
     * @param engine its socket
     */
    WaitingContainer(Path engine, Deadlines deadlines) {
        this.engine = engine;
        this.deadlines = deadlines;
    }

    /**
     * Returns the id of a container with the label that does not run. An engine that does not
     * answer is to answer to the start itself.
     *
     * @param container its id or name
     */
    Optional<String> find(String container) {
        try {
            return inspect(container);
        } catch (IOException e) {
            LOG.debug("container {} is not inspected: {}", container, e.getMessage());
            return Optional.empty();
        }
    }

    /** Whether such a container is still there, as far as the engine answers. */
    boolean isLeft(String id) {
        try {
            return inspect(id).isPresent();
        } catch (IOException e) {
            return true;
        }
    }

    private Optional<String> inspect(String container) throws IOException {
        // HTTP/1.0 has no chunks, and one answer for each connection.
        String request = "GET /containers/" + container + "/json HTTP/1.0\r\n\r\n";
        try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(engine));
                Deadlines.Deadline _ = deadlines.in(PATIENCE, channel)) {
            Channels.newOutputStream(channel).write(request.getBytes(StandardCharsets.US_ASCII));
            InputStream in = new BufferedInputStream(Channels.newInputStream(channel));
            return isFound(in) ? read(in) : Optional.empty();
        }
    }

    /** Reads the head of an answer. */
    private static boolean isFound(InputStream in) throws IOException {
        String status = new String(in.readNBytes(FOUND.length()), StandardCharsets.US_ASCII);
        int last = 0;
        for (int length = 0; last != CR_LF_CR_LF; length++) {
            int next = in.read();
            if (next < 0 || length == LONGEST_HEAD) {
                throw new EOFException("the engine's answer ends in its head");
            }
            last = last << 8 | next;
        }
        return status.equals(FOUND);
    }

    private static Optional<String> read(InputStream in) throws IOException {
        String id = "";
        boolean runs = false;
        boolean waits = false;
        try (JsonParser json = JSON.createParser(in)) {
            for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
                if (!token.isScalarValue() || !NAMES.contains(String.valueOf(json.currentName()))) {
                    continue;
                }
                switch (json.getParsingContext().pathAsPointer().toString()) {
                    case "/Id" -> id = json.getText();
                    case "/State/Running" -> runs = token == JsonToken.VALUE_TRUE;
                    case "/Config/Labels/" + ClaimNames.WAIT_LABEL -> waits = true;
                    default -> {}
                }
            }
        }
        return waits && !runs && ID.matcher(id).matches() ? Optional.of(id) : Optional.empty();
    }
}
