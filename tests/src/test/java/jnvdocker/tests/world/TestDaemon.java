package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** An installed jnvdocker with directories of its own: client and daemon of a tree. */
public final class TestDaemon implements AutoCloseable {
    private final Path tree;
    private final Path directory = Directories.make("daemon");
    private final Map<String, String> environment = new HashMap<>();

    /** The built tree's. */
    public TestDaemon(TestEngine engine, DriverRoot host) {
        this(engine, host, Project.tree());
    }

    public TestDaemon(TestEngine engine, DriverRoot host, Path tree) {
        this(host, tree);
        environment.put("JNVDOCKER_PLUGIN_DIR", engine.plugins().toString());
        environment.put("JNVDOCKER_DOCKER_SOCKET", engine.socket().toString());
        environment.put("DOCKER_HOST", engine.url());
    }

    /** The built tree's, without an engine. */
    public TestDaemon(DriverRoot host) {
        this(host, Project.tree());
    }

    /** A daemon without an engine. */
    public TestDaemon(DriverRoot host, Path tree) {
        this.tree = tree;
        environment.put("JNVDOCKER_NAMESPACES", "own");
        environment.put("JNVDOCKER_RUN_DIR", directory.resolve("run").toString());
        environment.put("JNVDOCKER_STATE_DIR", directory.resolve("state").toString());
        environment.put("JNVDOCKER_CACHE_DIR", Project.build("daemon-cache").toString());
        environment.put("JNVDOCKER_CONFIG", directory.resolve("config.toml").toString());
        environment.put("JNVDOCKER_HOST_ROOT", host.directory().toString());
        environment.put("JNVDOCKER_PLUGIN_DIR", directory.resolve("plugins").toString());
        environment.put("JNVDOCKER_CDI_DIR", directory.resolve("cdi").toString());
        environment.put("JNVDOCKER_DOCKER_SOCKET", directory.resolve("no-docker.sock").toString());
        config("");
    }

    public Path socket() {
        return directory.resolve("run/jnvdocker.sock");
    }

    public Path pluginSocket() {
        return Path.of(environment.get("JNVDOCKER_PLUGIN_DIR")).resolve("nvidia-docker.sock");
    }

    public Path state() {
        return Path.of(environment.get("JNVDOCKER_STATE_DIR"));
    }

    /** The directory in which runtimes would search for CDI files. */
    public Path cdi() {
        return Path.of(environment.get("JNVDOCKER_CDI_DIR"));
    }

    /** The path of the driver's files for pods. */
    public Path podDriver() {
        return directory.resolve("run/driver");
    }

    public Path log() {
        return directory.resolve("run/jnvdockerd.log");
    }

    public Map<String, String> environment() {
        return Map.copyOf(environment);
    }

    /** Sets a variable of client and daemon, to take effect with the daemon's next start. */
    public TestDaemon with(String variable, Object value) {
        environment.put(variable, value.toString());
        return this;
    }

    /** Writes the configuration, to take effect with the daemon's next start. */
    public void config(String toml) {
        try {
            Files.writeString(directory.resolve("config.toml"), toml);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** {@code jnvdocker} as root types it, which starts the daemon if none runs. */
    public Command jnvdocker(Object... arguments) {
        List<Object> words = new ArrayList<>(List.of(tree.resolve("bin/jnvdocker")));
        words.addAll(Arrays.asList(arguments));
        return Command.of(words.toArray()).with(environment);
    }

    /** {@code jnvdockerd} in the foreground. */
    public Command jnvdockerd(Object... arguments) {
        List<Object> words = new ArrayList<>(List.of(tree.resolve("bin/jnvdockerd")));
        words.addAll(Arrays.asList(arguments));
        return Command.of(words.toArray()).with(environment);
    }

    /**
     * Starts {@code jnvdockerd} with more variables, with the log file that a client would choose.
     * Returns once it serves or has ended.
     */
    public Process launch(Map<String, String> variables) {
        try {
            Files.createDirectories(log().getParent());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Process process = jnvdockerd().with(variables).log(log()).start();
        awaitAnswer(process);
        return process;
    }

    /** Returns when a daemon serves, or when this process has ended. */
    public void awaitAnswer(Process process) {
        while (process.isAlive() && !answers()) {
            LockSupport.parkNanos(5_000_000);
        }
    }

    private boolean answers() {
        try (SocketChannel _ = SocketChannel.open(UnixDomainSocketAddress.of(socket()))) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** The daemon's process id, as long as one runs. */
    public OptionalLong pid() {
        try {
            String pid = Files.readString(directory.resolve("run/jnvdockerd.pid")).strip();
            return pid.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(pid));
        } catch (IOException e) {
            return OptionalLong.empty();
        }
    }

    /** How long it has had a processor, since it started. */
    public Duration processorTime() {
        return ProcessHandle.of(pid().orElseThrow())
                .orElseThrow()
                .info()
                .totalCpuDuration()
                .orElseThrow();
    }

    /** Ends the daemon as systemd does, and waits until it is gone. */
    public void stop() {
        pid().ifPresent(pid -> ProcessHandle.of(pid).ifPresent(process -> end(process, false)));
    }

    /** Ends the daemon without a chance to clean up. */
    public void kill() {
        pid().ifPresent(pid -> ProcessHandle.of(pid).ifPresent(process -> end(process, true)));
    }

    private static void end(ProcessHandle process, boolean forcibly) {
        if (forcibly) {
            process.destroyForcibly();
        } else {
            process.destroy();
        }
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (runs(process.pid())) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("the daemon does not end");
            }
            LockSupport.parkNanos(5_000_000);
        }
    }

    /**
     * Its sockets are open until the last thread has ended, by when the first thread may be gone.
     */
    private static boolean runs(long pid) {
        try (Stream<Path> threads = Files.list(Path.of("/proc/" + pid + "/task"))) {
            return threads.anyMatch(TestDaemon::hasNotEnded);
        } catch (IOException | UncheckedIOException e) {
            return false;
        }
    }

    /** A zombie has ended, however long its parent takes to notice. */
    private static boolean hasNotEnded(Path thread) {
        try {
            String stat = Files.readString(thread.resolve("stat"));
            return "ZX".indexOf(stat.charAt(stat.lastIndexOf(')') + 2)) < 0;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void close() {
        stop();
        Directories.remove(directory);
    }
}
