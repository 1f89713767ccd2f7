package jnvdocker.proxy;

import jnvdocker.command.runtime.RuntimeWait;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.PermanentThread;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
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
    private static final int PERIOD_S = 5;

    private final Process waiter;
    private final CountDownLatch over = new CountDownLatch(1);
    private final CountDownLatch gone = new CountDownLatch(1);

    /**
     * @param program {@code jnvdocker}
     * @param container its id
     * @param client ends when the client does
     */
    HeldStart(Path program, String container, InputStream client, Executor threads)
            throws RequestRefusal {
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
        threads.execute(() -> follow(client));
        // A virtual thread that reads a pipe would keep its carrier.
        PermanentThread.platform("held-start", this::follow).start();
    }

    /**
     * The end of a client that sends more after a start could not be seen: it ends the wait, too.
     */
    private void follow(InputStream client) {
        try {
            client.read();
        } catch (IOException e) {
            LOG.debug("a client is gone: {}", e.getMessage());
        } finally {
            gone.countDown();
            waiter.destroy();
            over.countDown();
        }
    }

    private void follow() {
        try (BufferedReader out = waiter.inputReader(StandardCharsets.UTF_8)) {
            String line = out.readLine();
            while (line != null && !line.equals(RuntimeWait.RESERVED)) {
                LOG.debug("a start waits: {}", line);
                line = out.readLine();
            }
        } catch (IOException e) {
            LOG.debug("a start waits no longer: {}", e.getMessage());
        } finally {
            over.countDown();
        }
    }

    /**
     * Returns when the start may go on: our OCI runtime refuses it then if its GPUs are not
     * reserved, and the engine does all that belongs to a start that fails.
     *
     * @param isLeft whether the container still is to be started
     * @return whether the client is still there
     */
    boolean await(BooleanSupplier isLeft) throws IOException {
        boolean waits = true;
        while (waits) {
            waits = !isOver(over, PERIOD_S) && isLeft.getAsBoolean();
        }
        return !isGone(0);
    }

    /** Whether the client is gone, or goes within that time. */
    boolean isGone(int seconds) throws IOException {
        return isOver(gone, seconds);
    }

    private static boolean isOver(CountDownLatch latch, int seconds) throws IOException {
        try {
            return latch.await(seconds, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the proxy is stopping");
        }
    }

    /** Returns a stream that ends with the client: the rest of a request that was read whole. */
    InputStream rest() {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                isOver(gone, Integer.MAX_VALUE);
                return -1;
            }

            @Override
            public int read(byte[] bytes, int offset, int length) throws IOException {
                return read();
            }
        };
    }

    @Override
    public void close() {
        waiter.destroy();
    }
}
