package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A folder that looks like a host with an NVIDIA driver and GPUs: the real files of a real release.
 */
public record DriverRoot(Path folder) implements AutoCloseable {

    /**
     * Debian's suite decides which driver; its layout is the installer's ({@code flat}) or
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
        Path folder = Folders.make("host");
        Command.of(
                        Project.world("driver-root"),
                        release.suite,
                        folder,
                        "--layout",
                        release.layout,
                        "--gpus",
                        gpus)
                .run()
                .ok();
        return new DriverRoot(folder);
    }

    /** As the kernel module says it. */
    public String version() {
        return read("sys/module/nvidia/version").strip();
    }

    public String read(String file) {
        try {
            return Files.readString(folder.resolve(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Replaces a file; never through a link, since the root's files have other names elsewhere. */
    public void write(String file, String text) {
        try {
            Path path = folder.resolve(file);
            Files.createDirectories(path.getParent());
            Files.deleteIfExists(path);
            Files.writeString(path, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        Folders.remove(folder);
    }
}
