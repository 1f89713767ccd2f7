package jnvdocker.process;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A program that should end soon and print little. Otherwise it is killed, with all its
 * descendants.
 */
public final class ShortProcess {
    private static final int MAX_OUTPUT = 64 << 10;

    private final Process process;
    private final long deadline;
    private final Duration limit;

    /** The exit code of a program and its output on both streams. */
    public record Result(int exitCode, String output) {}

    private ShortProcess(Process process, Duration limit) {
        this.process = process;
        this.limit = limit;
        this.deadline = System.nanoTime() + limit.toNanos();
    }

    /**
     * @throws IOException when it cannot be started, takes longer, or writes more than 64 KiB
     */
    public static Result run(ProcessBuilder builder, Duration limit) throws IOException {
        return run(builder, new File("/dev/null"), limit);
    }

    /**
     * Runs a program likewise.
     *
     * @param input the file that is its standard input
     */
    public static Result run(ProcessBuilder builder, File input, Duration limit)
            throws IOException {
        Process process = builder.redirectInput(input).redirectErrorStream(true).start();
        try {
            return new ShortProcess(process, limit).result();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while it waited for another program");
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    private Result result() throws IOException, InterruptedException {
        byte[] output = output();
        if (output.length > MAX_OUTPUT) {
            throw new IOException("it writes more than " + MAX_OUTPUT + " bytes");
        }
        if (!process.waitFor(nanosLeft(), TimeUnit.NANOSECONDS)) {
            throw late();
        }
        return new Result(process.exitValue(), new String(output, StandardCharsets.UTF_8));
    }

    /** Read by a thread of its own, the only kind of read that can be abandoned. */
    private byte[] output() throws IOException, InterruptedException {
        var output =
                CompletableFuture.supplyAsync(
                        () -> read(process.getInputStream()),
                        task -> Thread.ofPlatform().daemon().name("output").start(task));
        try {
            return output.get(nanosLeft(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw late();
        } catch (ExecutionException e) {
            throw new IOException("its output cannot be read: " + e.getCause().getMessage(), e);
        }
    }

    private static byte[] read(InputStream in) {
        try {
            return in.readNBytes(MAX_OUTPUT + 1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private long nanosLeft() {
        return Math.max(0, deadline - System.nanoTime());
    }

    private IOException late() {
        return new IOException("it does not end within " + limit.toMillis() + " ms");
    }
}
