package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/** An image registry on this machine: Debian's docker-registry. */
public final class ImageRegistry implements AutoCloseable {
    private static final long PATIENCE_NANOS = 30_000_000_000L;

    private final Path directory = Directories.make("registry");
    private final InetSocketAddress address;
    private final Process process;

    public ImageRegistry() {
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            address = new InetSocketAddress(free.getInetAddress(), free.getLocalPort());
            Files.writeString(
                    directory.resolve("config.yml"),
                    """
                    version: 0.1
                    log: {level: info}
                    storage: {filesystem: {rootdirectory: %s}}
                    http: {addr: "%s:%d"}
                    """
                            .formatted(
                                    directory.resolve("images"),
                                    address.getAddress().getHostAddress(),
                                    address.getPort()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        process =
                Command.of("docker-registry", "serve", directory.resolve("config.yml"))
                        .log(log())
                        .start();
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!answers()) {
            if (!process.isAlive() || System.nanoTime() > deadline) {
                close();
                throw new AssertionError("the registry does not start");
            }
            LockSupport.parkNanos(10_000_000);
        }
    }

    private boolean answers() {
        try (Socket socket = new Socket()) {
            socket.connect(address);
            return true;
        } catch (ConnectException e) {
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path log() {
        return directory.resolve("log");
    }

    /** {@code localhost:41234}: docker uses it without TLS. */
    public String name() {
        return "localhost:" + address.getPort();
    }

    /** The number of times that a name in a repository was resolved: once in each pull. */
    public long pulls(String repository) {
        try (var lines = Files.lines(log())) {
            return lines.filter(line -> line.contains("/v2/" + repository + "/manifests/"))
                    .filter(line -> line.contains("response completed"))
                    .filter(line -> line.contains("http.request.method=HEAD"))
                    .count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
        Directories.remove(directory);
    }
}
