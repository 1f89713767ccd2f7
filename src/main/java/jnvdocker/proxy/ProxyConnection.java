package jnvdocker.proxy;

import com.fasterxml.jackson.core.io.JsonStringEncoder;

import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.Deadlines;
import jnvdocker.protocol.FrameMemory;
import jnvdocker.words.FailedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutorService;

/** A connection of a client, for one request. */
final class ProxyConnection {
    private static final Logger LOG = LoggerFactory.getLogger(ProxyConnection.class);

    /** In which a head, and a body that is to get a label, must have come whole. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /**
     * How long a start that has waited for its GPUs waits for the engine: its GPUs may have become
     * free by the very restart of the engine, which ends containers.
     */
    private static final Duration RESTART = Duration.ofMinutes(1);

    private static final byte[] CONTINUE =
            "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private final SocketChannel client;
    private final FrameMemory.Account memory;
    private final Deadlines deadlines;
    private final InputStream in;
    private final OutputStream out;
    private final Relay relay;

    ProxyConnection(SocketChannel client, FrameMemory.Account memory, Deadlines deadlines) {
        this.client = client;
        this.memory = memory;
        this.deadlines = deadlines;
        in = new BufferedInputStream(Channels.newInputStream(client));
        out = Channels.newOutputStream(client);
        relay = new Relay(client, memory, deadlines);
    }

    /** Returns when the connection has ended. */
    void serve(ProxyServer.Ends ends, ExecutorService threads) throws IOException {
        try {
            int first = in.read();
            if (first < 0) {
                return;
            }
            RequestHead head = inTime(() -> RequestHead.read(first, in, memory));
            WaitingContainer started = new WaitingContainer(ends.engine(), deadlines);
            Optional<String> waiting = head.starts().flatMap(started::find);
            if (waiting.isPresent()) {
                RequestHead its = head.withContainer(waiting.get());
                byte[] request = inTime(() -> edited(its, body -> body));
                try (HeldStart start = new HeldStart(ends.client(), waiting.get(), in, threads)) {
                    if (start.await(() -> started.isLeft(waiting.get()))) {
                        relay(request, start.rest(), connect(ends.engine(), start), threads);
                    }
                }
                return;
            }
            Optional<OwnerLabel.Place> labels = head.creates();
            byte[] request =
                    labels.isPresent()
                            ? inTime(() -> labelled(head, labels.get()))
                            : head.forwarded();
            relay(request, in, connect(ends.engine()), threads);
        } catch (FailedException e) {
            refuse(client, e);
            relay.end(in);
        } catch (RuntimeException e) {
            LOG.error("a request failed", e);
            refuse(
                    client,
                    new RequestRefusal(
                            RequestRefusal.INTERNAL,
                            "internal error",
                            "the log of jnvdockerd --proxy has the details"));
            relay.end(in);
        }
    }

    private void relay(
            byte[] begun, InputStream rest, SocketChannel engine, ExecutorService threads)
            throws IOException {
        try (engine) {
            relay.run(begun, rest, engine, threads);
        }
    }

    @FunctionalInterface
    private interface Part<T> {
        T read() throws IOException;
    }

    /** Reads a part of the request, unless its client takes too long. */
    private <T> T inTime(Part<T> part) throws IOException {
        Deadlines.Deadline deadline = deadlines.in(PATIENCE, client);
        try (deadline) {
            return part.read();
        } catch (RequestRefusal e) {
            if (deadline.hasPassed()) {
                throw new RequestRefusal(
                        RequestRefusal.TIMEOUT,
                        "the request was not sent within " + PATIENCE.toSeconds() + " s",
                        "send it again");
            }
            throw e;
        }
    }

    private byte[] labelled(RequestHead head, OwnerLabel.Place place) throws IOException {
        return edited(head, body -> OwnerLabel.set(body, place, memory.uid()));
    }

    @FunctionalInterface
    private interface Edit {
        byte[] of(byte[] body) throws IOException;
    }

    /** Returns a request whose body has been read to its end. */
    private byte[] edited(RequestHead head, Edit edit) throws IOException {
        if (head.isHttp11() && head.values("Expect").anyMatch("100-continue"::equalsIgnoreCase)) {
            out.write(CONTINUE);
        }
        byte[] changed = edit.of(RequestBody.read(head, in, memory));
        ByteArrayOutputStream request = new ByteArrayOutputStream(changed.length + 1024);
        request.writeBytes(head.withLength(changed.length).forwarded());
        request.writeBytes(changed);
        return request.toByteArray();
    }

    private static SocketChannel connect(Path engine) throws RequestRefusal {
        try {
            return SocketChannel.open(UnixDomainSocketAddress.of(engine));
        } catch (IOException e) {
            throw new RequestRefusal(
                    RequestRefusal.UNAVAILABLE,
                    "cannot reach Docker's engine at " + engine + " (" + FileErrors.reason(e) + ")",
                    "start it (systemctl start docker), then try again");
        }
    }

    private static SocketChannel connect(Path engine, HeldStart start) throws IOException {
        long begun = System.nanoTime();
        while (true) {
            try {
                return connect(engine);
            } catch (RequestRefusal e) {
                if (System.nanoTime() - begun > RESTART.toNanos() || start.isGone(1)) {
                    throw e;
                }
            }
        }
    }

    /** Answers in the form of the engine's errors, which clients show to their users. */
    static void refuse(SocketChannel client, FailedException why) throws IOException {
        String status =
                why instanceof RequestRefusal ours ? ours.status() : RequestRefusal.UNAVAILABLE;
        String message = "jnvdocker: " + why.refusal().message();
        String body =
                "{\"message\":\""
                        + new String(JsonStringEncoder.getInstance().quoteAsString(message))
                        + "\"}\n";
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        String head =
                "HTTP/1.1 "
                        + status
                        + "\r\n"
                        + "Content-Type: application/json\r\n"
                        + "Connection: close\r\n"
                        + "Content-Length: "
                        + bytes.length
                        + "\r\n\r\n";
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        answer.writeBytes(head.getBytes(StandardCharsets.US_ASCII));
        answer.writeBytes(bytes);
        Channels.newOutputStream(client).write(answer.toByteArray());
    }
}
