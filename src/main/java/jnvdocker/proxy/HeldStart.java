package jnvdocker.proxy;

import jnvdocker.command.runtime.RuntimeWait;
import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.Refusal;

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
    private static final String OURS = "jnvdocker: ";
    private static final String ENDED =
            "the wait for this container's GPUs was ended; start the container again";

    /** How soon a container that was removed, or started otherwise, is waited for no longer. */
    private static final Duration PERIOD = Duration.ofSeconds(5);

    /** A virtual thread that reads a pipe would keep its carrier. */
    private static final Executor PIPES =
            task -> Thread.ofPlatform().daemon().name("held-start").start(task);

    private final InputStream client;
    private final Process waiter;

    /** The first byte that the client sends after its request; -1 when the client is gone. */
    private final CompletableFuture<Integer> next;

    /** Empty when the start may go on; else the reason why not. */
    private final CompletableFuture<String> refusal;

    /**
     * @param program {@code jnvdocker}
     * @param container its id
     * @param client what the client sends after its request
     */
    HeldStart(Path program, String container, InputStream client, Executor threads)
            throws RequestRefusal {
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
        refusal = CompletableFuture.supplyAsync(this::answer, PIPES);
    }

    private int read() {
        try {
            return client.read();
        } catch (IOException e) {
            return -1;
        }
    }

    /** Reads up to the line that reports the reservation, else to the last message. */
    private String answer() {
        String last = "";
        try (BufferedReader out = waiter.inputReader(StandardCharsets.UTF_8)) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                if (line.equals(RuntimeWait.RESERVED)) {
                    return "";
                }
                last =
                        line.startsWith(OURS)
                                ? line.substring(OURS.length())
                                : last + System.lineSeparator() + line;
            }
            int code = waiter.waitFor();
            if (code == ExitCode.OK.code()) {
                return "";
            }
            boolean isRefused = code == ExitCode.REFUSED.code() || code == ExitCode.USAGE.code();
            return isRefused && !last.isBlank() ? last : ENDED;
        } catch (IOException e) {
            return ENDED;
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts it", e);
        }
    }

    /**
     * Returns when the start may go on.
     *
     * @param isLeft whether the container still is to be started
     * @return whether the client is still there
     * @throws RequestRefusal when it may not
     */
    boolean await(BooleanSupplier isLeft) throws IOException {
        try {
            while (!isOver() && isLeft.getAsBoolean()) {
                LOG.trace("the start waits");
            }
            if (next.isDone()) {
                refuseMore();
                return false;
            }
            if (refusal.isDone() && !refusal.get().isEmpty()) {
                boolean usage = waiter.waitFor() == ExitCode.USAGE.code();
                throw new RequestRefusal(
                        usage ? RequestRefusal.BAD_REQUEST : RequestRefusal.UNAVAILABLE,
                        Refusal.of(refusal.get()));
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("the proxy is stopping", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the wait failed", e.getCause());
        }
    }

    /** Whether the wait is over, for a while. */
    private boolean isOver() throws InterruptedException, ExecutionException {
        try {
            CompletableFuture.anyOf(next, refusal).get(PERIOD.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        }
    }

    /** The end of a client that sends more could not be seen. */
    private void refuseMore() throws RequestRefusal {
        if (next.join() >= 0) {
            throw RequestRefusal.malformed("more follows a start that waits for its GPUs");
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
