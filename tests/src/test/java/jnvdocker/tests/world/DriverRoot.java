package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A directory that resembles a host with an NVIDIA driver and GPUs, with the real files of a real
 * release.
 */
public record DriverRoot(Path directory) implements AutoCloseable {
    private static final List<String> LOADED =
            List.of("proc/driver/nvidia/version", "sys/module/nvidia/version");

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
            Command.of("rm", "-r", shown.resolve(address(i)), directory.resolve("dev/nvidia" + i))
                    .run()
                    .ok();
        }
        return this;
    }

    /**
     * Has the driver loaded again: it shows these GPUs alone, and numbers their nodes in this
     * order. The order {@code 0 1 2 …} is that of the first load.
     *
     * @param gpus by their numbers at the first load
     */
    public void load(int... gpus) {
        Path shown = directory.resolve("proc/driver/nvidia/gpus");
        Path out = directory.resolve("proc/driver/nvidia/out");
        Command.of(
                        "sh",
                        "-c",
                        "mkdir -p \"$2\"; mv \"$1\"/* \"$2\" 2> /dev/null; mkdir -p \"$1\"",
                        "sh",
                        shown,
                        out)
                .run()
                .ok();
        for (int minor = 0; minor < gpus.length; minor++) {
            String address = address(gpus[minor]);
            Command.of("mv", out.resolve(address), shown).run().ok();
            String file = "proc/driver/nvidia/gpus/" + address + "/information";
            write(file, read(file).replaceAll("(Device Minor:\\s*)\\d+", "$1" + minor));
        }
    }

    /**
     * Gives the GPUs graphics nodes, {@code card1} and {@code renderD129} to the first; {@code
     * card0} and {@code renderD128} are another vendor's.
     */
    public void graphics(int gpus) {
        Command.of("mkdir", "-p", directory.resolve("dev/dri")).run().ok();
        for (int card = 0; card <= gpus; card++) {
            for (String name : List.of("card" + card, "renderD" + (128 + card))) {
                int minor = Integer.parseInt(name.replaceAll("\\D", ""));
                Command.of("mknod", directory.resolve("dev/dri/" + name), "c", "226", minor)
                        .run()
                        .ok();
                write("sys/class/drm/" + name + "/dev", "226:" + minor + "\n");
                if (card > 0) {
                    String pci = "sys/bus/pci/devices/" + address(card - 1) + "/drm/";
                    write(pci + name + "/dev", "226:" + minor + "\n");
                }
            }
        }
    }

    /** Gives the host a node of GPUDirect Storage, {@code nvidia-fs0}, and returns it. */
    public Path storage() {
        String devices = read("proc/devices");
        Path node = directory.resolve("dev/nvidia-fs0");
        if (!devices.contains("nvidia-fs")) {
            write(
                    "proc/devices",
                    devices.replace("511 nvidia-caps\n", "507 nvidia-fs\n511 nvidia-caps\n"));
            Command.of("mknod", node, "c", "507", "0").run().ok();
        }
        return node;
    }

    private static String address(int gpu) {
        return "0000:%02x:00.0".formatted(7 + 8 * gpu);
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

    /** The kernel has the driver's module no more, or not yet. */
    public void unload() {
        for (String file : LOADED) {
            move(file, file + ".unloaded");
        }
    }

    public void load() {
        for (String file : LOADED) {
            move(file + ".unloaded", file);
        }
    }

    private void move(String from, String to) {
        try {
            Files.move(directory.resolve(from), directory.resolve(to));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
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
