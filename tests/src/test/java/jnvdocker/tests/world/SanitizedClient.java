package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * The client, built to detect every invalid memory access and all undefined behaviour, in a
 * directory of its own with a few programs that a daemon may have it run.
 */
public final class SanitizedClient implements AutoCloseable {
    /** The scripts of the programs, by name. */
    private static final Map<String, String> PROGRAMS =
            Map.of(
                    "docker", "exit 5",
                    "quiet", "exit 0",
                    "failing", "exit 3",
                    "talking", "echo out; echo err >&2; exit 4",
                    "dying", "kill -KILL $$",
                    "flood", "exec /usr/bin/head -c 5000000 /dev/zero",
                    "dripping", "while echo x; do /bin/sleep 0.3; done",
                    "endless", "exec /bin/sleep 1000");

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Path directory = Directories.make("frames");
    private final AtomicInteger sockets = new AtomicInteger();

    /** Built once, and only if used; another test JVM may need it, too. */
    private static final class Program {
        private static final String SANITIZERS =
                " -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize=address,undefined";

        /** The sanitizers make each process ten times slower to start; a quick run does without. */
        private static final String FLAGS =
                "-O1 -g -DSILENCE_MS=3000 -DANSWER_MS=3000 -DRETURN_MS=10000"
                        + (Boolean.getBoolean("tests.quick") ? "" : SANITIZERS);

        static final Path PATH = build();

        private static Path build() {
            // make does not notice other flags, so the directory's name depends on them.
            Path out = Project.build("sanitized-" + Integer.toHexString(FLAGS.hashCode()));
            Command.Result made =
                    Command.of(
                                    "flock",
                                    out + ".lock",
                                    "make",
                                    "-C",
                                    Project.source("native"),
                                    "OUT=" + out,
                                    "STATIC=-pie")
                            .with("CFLAGS", FLAGS)
                            .run();
            if (made.exitCode() != 0) {
                throw new AssertionError(
                        "cannot build the client with sanitizers; install gcc's libasan and"
                                + " libubsan (Debian has them in gcc)\n"
                                + made);
            }
            return out.resolve("jnvdocker");
        }
    }

    public SanitizedClient() {
        try {
            Path programs = Files.createDirectory(directory.resolve("bin"));
            for (Map.Entry<String, String> program : PROGRAMS.entrySet()) {
                Path file = programs.resolve(program.getKey());
                Files.writeString(file, "#!/bin/sh\n" + program.getValue() + "\n");
                file.toFile().setExecutable(true);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public Path directory() {
        return directory;
    }

    public static Path program() {
        return Program.PATH;
    }

    /**
     * The program that an engine runs in place of its runtime; it gives up on a silent daemon after
     * 3 s.
     */
    public static Path runtimeProgram() {
        return Program.PATH.resolveSibling("nvidia-container-runtime");
    }

    /**
     * The directory of the programs that Mesos runs, which give up on a silent daemon after 3 s.
     */
    public static Path mesosPrograms() {
        return Program.PATH.getParent();
    }

    /** A path for a socket that was not used before. */
    public Path newSocket() {
        return directory.resolve("socket" + sockets.incrementAndGet());
    }

    /** A command that runs the client, which uses the daemon at this socket. */
    public Command command(Path socket, Object... words) {
        // No leak checks: the kernel frees memory that is still in use at the end.
        String options = "exitcode=99:detect_leaks=0:log_path=" + directory.resolve("report");
        return Command.of(words)
                .with("PATH", directory.resolve("bin"))
                .with("JNVDOCKER_SOCKET", socket)
                .with("ASAN_OPTIONS", options)
                .with("UBSAN_OPTIONS", options + ":print_stacktrace=1");
    }

    /** Has the client request to run a container, and the script answer. */
    public Command.Result run(HostileDaemon.Script script) {
        Path socket = newSocket();
        try (HostileDaemon _ = new HostileDaemon(socket, script)) {
            return command(socket, program(), "run", "image").run();
        }
    }

    /**
     * Runs a client that sends its request again: it is ended once it has hung up the first time,
     * while it pauses or sends it.
     */
    public Command.Result runAndEnd(HostileDaemon.Script script) {
        Path socket = newSocket();
        try (HostileDaemon daemon = new HostileDaemon(socket, HostileDaemon.Script.once(script))) {
            return command(socket, program(), "run", "image")
                    .run(client -> {
                        daemon.received();
                        // Not the process's own destroy, which would close streams that are yet to
                        // be read.
                        client.toHandle().destroy();
                    });
        }
    }

    /**
     * @throws AssertionError with a report of the sanitizers, if there is one
     */
    public void assertSound() {
        try (Stream<Path> files = Files.list(directory)) {
            List<Path> reports =
                    files.filter(file -> file.getFileName().toString().startsWith("report"))
                            .toList();
            if (!reports.isEmpty()) {
                throw new AssertionError(Files.readString(reports.getFirst()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Waits until no client and no program started by one runs.
     *
     * @throws AssertionError if one keeps running
     */
    public void assertNothingLeft() {
        long end = System.nanoTime() + PATIENCE.toNanos();

        for (List<ProcessHandle> left = left(); !left.isEmpty(); left = left()) {
            if (System.nanoTime() > end) {
                left.forEach(ProcessHandle::destroyForcibly);
                throw new AssertionError("left behind: " + left.stream().map(this::shown).toList());
            }
            LockSupport.parkNanos(5_000_000);
        }
    }

    private List<ProcessHandle> left() {
        return ProcessHandle.allProcesses().filter(this::isOurs).toList();
    }

    private boolean isOurs(ProcessHandle process) {
        return file(process, "environ").contains("JNVDOCKER_SOCKET=" + directory);
    }

    private String shown(ProcessHandle process) {
        return process.pid() + " " + file(process, "cmdline").replace('\0', ' ');
    }

    private static String file(ProcessHandle process, String name) {
        try {
            byte[] text = Files.readAllBytes(Path.of("/proc/" + process.pid(), name));
            return new String(text, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return ""; // the process has ended, or belongs to another user
        }
    }

    @Override
    public void close() {
        Directories.remove(directory);
    }
}
