package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A directory that resembles a host with an NVIDIA driver and GPUs, with the real files of a real
 * release.
 */
public record DriverRoot(Path directory) implements AutoCloseable {

    /**
     * The Debian suite determines the driver; the layout is the installer's ({@code flat}) or
     * Debian's.
     */
    public enum Release {
        DRIVER_470("bullseye", "flat"),
        DRIVER_535("bookworm", "flat"),
        DRIVER_535_DEBIAN("bookworm", "debian"),
        DRIVER_550("trixie", "flat"),
        DRIVER_550_DEBIAN("trixie", "debian");

        private final String suite;
        private final String layout;

        Release(String suite, String layout) {
            this.suite = suite;
            this.layout = layout;
        }
    }

    public static DriverRoot make(Release release) {
        return make(release, 4);
    }

    public static DriverRoot make(Release release, int gpus) {
        Path directory = Directories.make("host");
        Command.of(
                        Project.world("driver-root"),
                        release.suite,
                        directory,
                        "--layout",
                        release.layout,
                        "--gpus",
                        gpus)
                .run()
                .ok();
        return new DriverRoot(directory);
    }

    /**
     * Removes the largest of the driver's files, which no program of a test calls: a volume whose
     * files cannot be links to the host's is made and compared in a moment then.
     */
    public DriverRoot slim() {
        String names = ".*(nvoptix|rtcore|nvvm|glcore|glvkspirv|opencl|ptxjitcompiler).*";
        Path usr = directory.resolve("usr");
        Command.of("find", usr, "-regextype", "egrep", "-regex", names, "-delete").run().ok();
        return this;
    }

    /** Takes GPUs out, those with the lowest numbers: the others keep their nodes and UUIDs. */
    public DriverRoot withoutFirst(int gpus) {
        for (int i = 0; i < gpus; i++) {
            Path shown = directory.resolve("proc/driver/nvidia/gpus");
            String address = "0000:%02x:00.0".formatted(7 + 8 * i);
            Command.of("rm", "-r", shown.resolve(address), directory.resolve("dev/nvidia" + i))
                    .run()
                    .ok();
        }
        return this;
    }

    /** The version that the kernel module reports. */
    public String version() {
        return read("sys/module/nvidia/version").strip();
    }

    public String read(String file) {
        try {
            return Files.readString(directory.resolve(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Replaces a file rather than writing to it, since the root's files have other hard links. */
    public void write(String file, String text) {
        try {
            Path path = directory.resolve(file);
            Files.createDirectories(path.getParent());
            Files.deleteIfExists(path);
            Files.writeString(path, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Makes a small libcuda of the driver's version, in place of the driver's own if it has one.
     */
    public void libcuda() {
        String name = "usr/lib/x86_64-linux-gnu/libcuda.so." + version();
        write(name + ".c", "int cuInit(unsigned flags) { return flags != 0; }\n");
        write(name, ""); // else the compiler would write into the hard-linked file
        Path library = directory.resolve(name);
        Command.of(
                        "gcc",
                        "-shared",
                        "-fPIC",
                        "-Wl,-soname,libcuda.so.1",
                        "-o",
                        library,
                        library + ".c")
                .run()
                .ok();
    }

    /** Gives the kernel module another version; the caller must make its libcuda. */
    public void version(String other) {
        write(
                "proc/driver/nvidia/version",
                read("proc/driver/nvidia/version").replace(version(), other));
        write("sys/module/nvidia/version", other + "\n");
    }

    /**
     * Has the driver show a MIG instance.
     *
     * @param minor of the GPU's node
     * @param access the minor of the GPU instance's capability; the compute instance's is the next
     */
    public void instance(int minor, int gpuInstance, int computeInstance, int access) {
        String directory =
                "proc/driver/nvidia/capabilities/gpu" + minor + "/mig/gi" + gpuInstance + "/";
        String text = "DeviceFileMinor: %d\nDeviceFileMode: 292\nDeviceFileModify: 1\n";
        write(directory + "access", text.formatted(access));
        write(directory + "ci" + computeInstance + "/access", text.formatted(access + 1));
    }

    @Override
    public void close() {
        Directories.remove(directory);
    }
}
