package jnvdocker.host;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** The GPUs of NVIDIA's that the host keeps for virtual machines: vfio-pci drives them. */
public final class PassedThrough {
    private static final String DRIVER = "/sys/bus/pci/drivers/vfio-pci";
    private static final Pattern ADDRESS =
            Pattern.compile("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");
    private static final String NVIDIA = "0x10de";

    /** The class of display controllers; a GPU has functions of other classes, too. */
    private static final String DISPLAY = "0x03";

    private PassedThrough() {}

    /** Their PCI addresses, in order; none where the host does not say so. */
    public static List<String> addresses(Host host) {
        TreeSet<String> found = new TreeSet<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(host.resolve(DRIVER))) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                if (ADDRESS.matcher(name).matches() && isGpu(host, name)) {
                    found.add(name);
                }
            }
        } catch (IOException e) {
            return List.of();
        }
        return List.copyOf(found);
    }

    private static boolean isGpu(Host host, String address) {
        try {
            Path device = host.resolve("/sys/bus/pci/devices/" + address);
            return KernelText.read(device.resolve("vendor")).strip().equals(NVIDIA)
                    && KernelText.read(device.resolve("class")).startsWith(DISPLAY);
        } catch (IOException e) {
            return false;
        }
    }
}
