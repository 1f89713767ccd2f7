package jnvdocker.volume;

import jnvdocker.host.Host;
import jnvdocker.volume.files.TestingHost;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Set;

/** A separate process that builds volumes, to run beside others or to be killed. */
final class BuilderProcess implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;

    /** Arguments: root of the host, state directory, {@code once} or {@code again}. */
    public static void main(String[] arguments) throws IOException {
        Host host = Host.at(Path.of(arguments[0]));
        DriverVolumeStore store = new DriverVolumeStore(Path.of(arguments[1]), Set.of());
        System.out.println("ready");
        System.in.read();
        do {
            store.build(host, TestingHost.VERSION);
            System.out.println("built");
            if (arguments[2].equals("again")) {
                store.remove(TestingHost.VERSION);
            }
        } while (arguments[2].equals("again"));
    }

    private BuilderProcess(Process process) {
        this.process = process;
        this.output = process.inputReader(StandardCharsets.UTF_8);
    }

    /** Starts a process, which then waits for {@link #go}. */
    static BuilderProcess start(TestingHost host, Path state, String mode) throws IOException {
        String java = ProcessHandle.current().info().command().orElse("java");
        Process process =
                new ProcessBuilder(
                                java,
                                "-cp",
                                System.getProperty("java.class.path"),
                                "--enable-native-access=ALL-UNNAMED",
                                "-Djnr.ffi.asm.enabled=false",
                                "-Djnr.ffi.compile.enabled=false",
                                "-Djnr.ffi.x86asm.enabled=false",
                                "-XX:TieredStopAtLevel=1",
                                BuilderProcess.class.getName(),
                                host.path("/").toString(),
                                state.toString(),
                                mode)
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start();
        BuilderProcess builder = new BuilderProcess(process);
        builder.expect("ready");
        return builder;
    }

    void go() throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
    }

    void expect(String line) throws IOException {
        String got = output.readLine();
        if (!line.equals(got)) {
            throw new IOException("the builder said '" + got + "' instead of '" + line + "'");
        }
    }

    int waitFor() throws InterruptedException {
        return process.waitFor();
    }

    /** Kills it by SIGKILL, and returns when it is gone. */
    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
