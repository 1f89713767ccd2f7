package jnvdocker.host;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Loads kernel modules of this machine. On a host without X the driver may not be loaded yet.
 * nvidia-uvm is loaded only when a CUDA program requests it, which no program in a container can.
 */
final class KernelModules {
    private static final int LIMIT_SECONDS = 30;

    private final List<Path> programs;

    /**
     * @param programs possible places of modprobe; the first that exists is run
     */
    KernelModules(List<Path> programs) {
        this.programs = programs;
    }

    /**
     * Returns the loader of a host's modules; a host that is only a directory has no kernel to load
     * them into.
     */
    static KernelModules of(Host host) {
        return new KernelModules(
                host.isThisMachine()
                        ? List.of(Path.of("/usr/sbin/modprobe"), Path.of("/sbin/modprobe"))
                        : List.of());
    }

    /**
     * @throws IOException with the reason why the module was not loaded
     */
    void load(String module) throws IOException {
        for (Path program : programs) {
            if (Files.isExecutable(program)) {
                run(program, module);
                return;
            }
        }
        throw new IOException("there is no modprobe");
    }

    private static void run(Path program, String module) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(program.toString(), module);
        builder.environment().clear();
        Process process = builder.redirectErrorStream(true).start();
        try {
            process.getOutputStream().close();
            if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException(program + " did not end in " + LIMIT_SECONDS + " s");
            }
            // modprobe prints a line or two, which the pipe has kept.
            byte[] said = process.getInputStream().readNBytes(4096);
            if (process.exitValue() != 0) {
                throw new IOException(new String(said, StandardCharsets.UTF_8).strip());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(program + " was interrupted", e);
        } finally {
            process.destroyForcibly();
        }
    }
}
