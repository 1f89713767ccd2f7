package jnvdocker.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The files of the driver's kernel module, written beneath a directory. */
final class TestingProc {
    private final Path root;

    TestingProc(Path root) {
        this.root = root;
    }

    Host host() throws IOException {
        return Host.at(root);
    }

    Path path(String path) {
        return root.resolve(path.substring(1));
    }

    TestingProc file(String path, String text) throws IOException {
        Files.createDirectories(path(path).getParent());
        Files.writeString(path(path), text);
        return this;
    }

    TestingProc version(String text) throws IOException {
        return file("/proc/driver/nvidia/version", text);
    }

    TestingProc gpu(String address, String information) throws IOException {
        return file("/proc/driver/nvidia/gpus/" + address + "/information", information);
    }

    /** From an A100, with tabs and blanks as driver 535 prints them. */
    static String information(String uuid, int minor) {
        return "Model: \t\t NVIDIA A100-SXM4-40GB\n"
                + "IRQ:   \t\t 101\n"
                + "GPU UUID: \t "
                + uuid
                + "\n"
                + "Video BIOS: \t 92.00.45.00.03\n"
                + "Bus Type: \t PCIe\n"
                + "DMA Size: \t 47 bits\n"
                + "DMA Mask: \t 0x7fffffffffff\n"
                + "Bus Location: \t 0000:0f:00.0\n"
                + "Device Minor: \t "
                + minor
                + "\n"
                + "GPU Firmware: \t N/A\n"
                + "GPU Excluded:\t No\n";
    }
}
