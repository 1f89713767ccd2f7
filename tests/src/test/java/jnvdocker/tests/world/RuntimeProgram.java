package jnvdocker.tests.world;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Our nvidia-container-runtime with its settings, in a directory. */
public final class RuntimeProgram {
    /** Leaks do not matter, since all programs end by exec. */
    public static final String SANITIZER = "ASAN_OPTIONS=detect_leaks=0";

    private final Path directory;
    private final Path socket;
    private final Path markers;
    private final Path wake;

    /** Runs in front of that runtime; its other files are in the directory. */
    public RuntimeProgram(Path directory, Path program, Path runtime) {
        this(
                directory,
                program,
                runtime,
                directory.resolve("socket"),
                directory.resolve("markers"),
                directory.resolve("wake"));
    }

    /** Makes the program with the socket and markers of a daemon. */
    public static RuntimeProgram of(TestDaemon daemon, Path directory, Path program, Path runtime) {
        Path run = daemon.socket().getParent();
        return new RuntimeProgram(
                directory,
                program,
                runtime,
                daemon.socket(),
                run.resolve("runtime"),
                run.resolve("runtime.wake"));
    }

    private RuntimeProgram(
            Path directory, Path program, Path runtime, Path socket, Path markers, Path wake) {
        this.directory = directory;
        this.socket = socket;
        this.markers = markers;
        this.wake = wake;
        try {
            Files.createDirectories(markers());
            settle(program, runtime.toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Lays it out with another real runtime. */
    public void settle(Path program, String runtime) throws IOException {
        new SettledProgram("jnvdocker-runtime-settings-1")
                .path(runtime.getBytes(StandardCharsets.UTF_8))
                .path(markers().toString().getBytes(StandardCharsets.UTF_8))
                .socket(socket().toString().getBytes(StandardCharsets.UTF_8))
                .socket(wake().toString().getBytes(StandardCharsets.UTF_8))
                .write(program, path());
    }

    public Path path() {
        return directory.resolve("nvidia-container-runtime");
    }

    /** The socket on which it queries the daemon. */
    public Path socket() {
        return socket;
    }

    /** The directory in which it expects a file named like the container. */
    public Path markers() {
        return markers;
    }

    /** The socket to which it sends the ids of deleted containers. */
    public Path wake() {
        return wake;
    }

    /** A command that makes this call, with these variables and no others. */
    public Command command(List<String> argv, Path cwd, Map<String, String> environment) {
        List<Object> words = new ArrayList<>(List.of("env", "-i", SANITIZER));
        environment.forEach((name, value) -> words.add(name + "=" + value));
        String exec = "my $program = shift; exec {$program} @ARGV";
        words.addAll(List.of("/usr/bin/perl", "-e", exec, path()));
        words.addAll(argv);
        return Command.of(words.toArray()).in(cwd);
    }

    public Command command(RuntimeCall call) {
        return command(call.argv(), call.cwd(), call.environment());
    }

    /** The bytes of a request to the daemon with these arguments. */
    public static byte[] request(String... arguments) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(1);
            out.writeInt(0);
            out.writeInt(0);
            string(out, "/");
            strings(out, "docker");
            strings(out, arguments);
            strings(out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Frames().frame('Q', bytes.toByteArray()).toBytes();
    }

    private static void strings(DataOutputStream out, String... texts) throws IOException {
        out.writeInt(texts.length);
        for (String text : texts) {
            string(out, text);
        }
    }

    private static void string(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
