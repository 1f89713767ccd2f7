package jnvdocker.proxy;

import jnvdocker.command.runtime.RuntimeWait;
import jnvdocker.posix.FileErrors;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/**
 * A start that is held back until the container's GPUs are reserved for it. A client of the daemon
 * has the place in the queue, and then the reservation: a process of its own, since that is what
 * places and reservations belong to. It ends with the request, and when the client of the proxy is
 * gone.
 */
final class HeldStart implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HeldStart.class);

    /** How soon a container that was removed, or started otherwise, is waited for no longer. */
    private static final Duration PERIOD = Duration.ofSeconds(5);

    /** A virtual thread that reads a pipe would keep its carrier. */
    private static final Executor PIPES =
            task -> Thread.ofPlatform().daemon().name("held-start").start(task);

    private final String container;
    private final InputStream client;
    private final Process waiter;

    /** The first byte that the client sends after its request; -1 when the client is gone. */
    private final CompletableFuture<Integer> next;

    /** Is complete when the GPUs are reserved, or will not be. */
    private final CompletableFuture<Void> decided;

    /**
     * @param program {@code jnvdocker}
     * @param container its id
     * @param client what the client sends after its request
     */
    HeldStart(Path program, String container, InputStream client, Executor threads)
            throws RequestRefusal {
        this.container = container;
        this.client = client;
        try {
            waiter =
                    new ProcessBuilder(program.toString(), "runtime", "wait", container)
                            .redirectErrorStream(true)
                            .start();
        } catch (IOException e) {
            throw new RequestRefusal(
                    RequestRefusal.INTERNAL,
                    "cannot run " + program + " (" + FileErrors.reason(e) + ")",
                    "restart jnvdocker-proxy");
        }
        next = CompletableFuture.supplyAsync(this::read, threads);
        next.thenRun(waiter::destroy);
        decided = CompletableFuture.runAsync(this::awaitDecision, PIPES);
    }

    private int read() {
        try {
            return client.read();
        } catch (IOException e) {
            return -1;
        }
    }

    private void awaitDecision() {
        try (BufferedReader out = waiter.inputReader(StandardCharsets.UTF_8)) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                if (line.equals(RuntimeWait.RESERVED)) {
                    return;
                }
                LOG.debug("start of {}: {}", container, line);
            }
        } catch (IOException e) {
            LOG.debug("start of {}: {}", container, e.getMessage());
        }
    }

    /**
     * Returns when the start may go on: our OCI runtime refuses it then if its GPUs are not
     * reserved, and the engine does all that belongs to a start that fails.
     *
     * @param isLeft whether the container still is to be started
     * @return whether the client is still there
     * @throws RequestRefusal when the client sends more, so that its end could not be seen
     */
    boolean await(BooleanSupplier isLeft) throws IOException {
        try {
            while (!isOver() && isLeft.getAsBoolean()) {
                LOG.trace("{} is still to be started", container);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("the proxy is stopping", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the wait failed", e.getCause());
        }
        if (next.isDone() && next.join() >= 0) {
            throw RequestRefusal.malformed("more follows a start that waits for its GPUs");
        }
        return !next.isDone();
    }

    /** Whether the wait is over, for a while. */
    private boolean isOver() throws InterruptedException, ExecutionException {
        try {
            CompletableFuture.anyOf(next, decided).get(PERIOD.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        }
    }

    /** Returns what the client sends from now on. */
    InputStream rest() {
        return new SequenceInputStream(
                new InputStream() {
                    private boolean isRead;

                    @Override
                    public int read() {
                        int byteOrEnd = isRead ? -1 : next.join();
                        isRead = true;
                        return byteOrEnd;
                    }
                },
                client);
    }

    @Override
    public void close() {
        waiter.destroy();
    }
}
