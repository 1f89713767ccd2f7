package jnvdocker.host;

import java.io.IOException;
import java.util.OptionalInt;

/** The part of a host's processors and memory that a PCI device is next to. */
public final class NumaNode {
    private NumaNode() {}

    /**
     * Returns the node's number; empty on a host that is not divided into nodes, or that does not
     * say where the device is.
     *
     * @param pciAddress {@code 0000:07:00.0}
     */
    public static OptionalInt of(Host host, String pciAddress) {
        try {
            String text =
                    KernelText.read(
                            host.resolve("/sys/bus/pci/devices/" + pciAddress + "/numa_node"));
            return parse(text);
        } catch (IOException e) {
            return OptionalInt.empty();
        }
    }

    /** The kernel writes -1 where it does not know. */
    static OptionalInt parse(String text) {
        String number = text.strip();
        return number.matches("[0-9]{1,4}")
                ? OptionalInt.of(Integer.parseInt(number))
                : OptionalInt.empty();
    }
}
