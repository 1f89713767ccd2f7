package jnvdocker.host;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The kernel's graphics nodes of a GPU: {@code /dev/dri/card1} and {@code renderD129}. A program
 * computes by them, too: who has them has the GPU.
 */
public final class DrmNodes {
    /** The major of all graphics nodes, whichever driver has made them. */
    public static final int MAJOR = 226;

    private static final Pattern NAME = Pattern.compile("(card|renderD)[0-9]{1,6}");
    private static final Pattern NUMBER = Pattern.compile("([0-9]{1,4}):([0-9]{1,7})\\s*");

    private DrmNodes() {}

    /** Returns the nodes of these GPUs, and of no others. MIG instances have no graphics. */
    public static List<DeviceNode> of(Host host, List<Gpu> gpus) throws IOException {
        List<DeviceNode> nodes = new ArrayList<>();
        for (Gpu gpu : gpus) {
            if (gpu.part().isEmpty()) {
                nodes.addAll(of(host, gpu));
            }
        }
        return nodes;
    }

    /** Returns the minors of the GPUs by the minors of their graphics nodes. */
    public static Map<Integer, Integer> minors(Host host, List<Gpu> gpus) throws IOException {
        Map<Integer, Integer> minors = new HashMap<>();
        for (Gpu gpu : gpus) {
            if (gpu.isIdentified()) {
                of(host, gpu).forEach(node -> minors.put(node.minor(), gpu.minor()));
            }
        }
        return minors;
    }

    /** Returns the minor of the GPU that has a graphics node; empty for another vendor's node. */
    static OptionalInt minorOf(HostDriver driver, Host host, int node) throws IOException {
        Integer minor = minors(host, driver.gpus()).get(node);
        return minor == null ? OptionalInt.empty() : OptionalInt.of(minor);
    }

    /** Returns the minors of the graphics nodes of all cards, whoever has made them. */
    public static Set<Integer> all(Host host) throws IOException {
        Path directory = host.resolve("/sys/class/drm");
        Set<Integer> minors = new TreeSet<>();
        if (Files.isDirectory(directory)) {
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
                for (Path entry : entries) {
                    Path file = entry.resolve("dev");
                    Matcher number =
                            NUMBER.matcher(Files.exists(file) ? Files.readString(file) : "");
                    if (number.matches() && Integer.parseInt(number.group(1)) == MAJOR) {
                        minors.add(Integer.parseInt(number.group(2)));
                    }
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }
        return minors;
    }

    /**
     * Returns the nodes of one GPU, each also by its place on the bus, as udev links it; none where
     * the driver has no kernel mode setting.
     */
    private static List<DeviceNode> of(Host host, Gpu gpu) throws IOException {
        List<DeviceNode> nodes = new ArrayList<>();
        Path directory = host.resolve("/sys/bus/pci/devices/" + gpu.pciAddress() + "/drm");
        if (!Files.isDirectory(directory)) {
            return nodes;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                Matcher kind = NAME.matcher(name);
                if (kind.matches()) {
                    Matcher number = NUMBER.matcher(Files.readString(entry.resolve("dev")));
                    if (number.matches()) {
                        int major = Integer.parseInt(number.group(1));
                        int minor = Integer.parseInt(number.group(2));
                        String end = kind.group(1).equals("card") ? "card" : "render";
                        Path place = host.resolve("/dev/dri/" + name);
                        for (String path :
                                List.of(name, "by-path/pci-" + gpu.pciAddress() + "-" + end)) {
                            nodes.add(new DeviceNode("/dev/dri/" + path, place, major, minor));
                        }
                    }
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return nodes;
    }
}
