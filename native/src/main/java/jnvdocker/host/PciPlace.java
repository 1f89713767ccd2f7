package jnvdocker.host;

import java.io.IOException;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * The part of the host that a PCI device is in.
 *
 * @param numaNode empty where the firmware does not report it
 * @param cpus the nearest processors: {@code 0-23,48-71}
 */
public record PciPlace(OptionalInt numaNode, Optional<String> cpus) {
    private static final Pattern NODE = Pattern.compile("[0-9]{1,4}");
    private static final Pattern CPUS = Pattern.compile("[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*");

    /**
     * @param address {@code 0000:07:00.0}
     */
    public static PciPlace of(Host host, String address) {
        String device = "sys/bus/pci/devices/" + address + "/";
        Optional<String> node = read(host, device + "numa_node", NODE);
        return new PciPlace(
                node.isPresent()
                        ? OptionalInt.of(Integer.parseInt(node.get()))
                        : OptionalInt.empty(),
                read(host, device + "local_cpulist", CPUS));
    }

    /** A node of -1 is none. */
    private static Optional<String> read(Host host, String path, Pattern form) {
        try {
            return Optional.of(KernelText.read(host.resolve(path)).strip())
                    .filter(it -> form.matcher(it).matches());
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
