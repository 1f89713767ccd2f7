package jnvdocker.host;

import jnvdocker.posix.FileStatus;
import jnvdocker.posix.Posix;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The nodes of what connects GPUs with storage, networks and each other: GPUDirect Storage,
 * GPUDirect RDMA, GDRCopy, NVLink's switches and IMEX channels. They give no GPU. A container with
 * GPUs has those that its variables request, as with NVIDIA's toolkit, whose variables they are.
 */
public final class FabricNodes {
    private static final String ENABLED = "enabled";
    private static final String CHANNELS = "NVIDIA_IMEX_CHANNELS";

    /** NVIDIA's own devices among them, as /proc/devices names them. */
    private static final List<String> DEVICES =
            List.of("nvidia-fs", "nvidia-nvlink", "nvidia-nvswitch", "nvidia-caps-imex-channels");

    private static final Pattern COMMA = Pattern.compile(",");
    private static final String CHANNEL = "channel";
    private static final Pattern CHANNEL_NAME = Pattern.compile(CHANNEL + "[0-9]{1,5}");

    /** The nodes of one directory of which a variable requests all. */
    private record Nodes(String directory, Predicate<String> name) {
        Nodes(String directory, String name) {
            this(directory, Pattern.compile(name).asMatchPredicate());
        }
    }

    private static final Map<String, Nodes> NODES =
            Map.of(
                    "NVIDIA_GDS", new Nodes("/dev", "nvidia-fs[0-9]*"),
                    "NVIDIA_GDRCOPY", new Nodes("/dev", "gdrdrv"),
                    "NVIDIA_MOFED", new Nodes("/dev/infiniband", "uverbs[0-9]+|rdma_cm"),
                    "NVIDIA_NVSWITCH", new Nodes("/dev", "nvidia-nvswitch(ctl|[0-9]+)"));

    private FabricNodes() {}

    /** Returns the majors of NVIDIA's own devices among them. */
    public static Set<Integer> majors(Host host) throws IOException {
        Map<String, Integer> majors = DeviceMajors.read(host);
        return DEVICES.stream()
                .map(majors::get)
                .filter(Objects::nonNull)
                .collect(Collectors.toSet());
    }

    /**
     * Returns the nodes that a container's variables request, and that the host has.
     *
     * @param variables of the container, its image's included
     */
    public static List<DeviceNode> requested(Host host, Map<String, String> variables)
            throws IOException {
        List<DeviceNode> nodes = new ArrayList<>();
        for (Map.Entry<String, Nodes> each : NODES.entrySet()) {
            if (ENABLED.equals(variables.get(each.getKey()))) {
                nodes.addAll(of(host, each.getValue()));
            }
        }
        String channels = variables.getOrDefault(CHANNELS, "").strip();
        if (!channels.isEmpty()) {
            nodes.addAll(of(host, new Nodes("/dev/nvidia-caps-imex-channels", channels(channels))));
        }
        nodes.sort(Comparator.comparing(DeviceNode::name));
        return nodes;
    }

    /** Whether a container's variables request GPUDirect Storage, which needs files besides. */
    public static boolean wantsStorage(Map<String, String> variables) {
        return ENABLED.equals(variables.get("NVIDIA_GDS"));
    }

    /** The names of the channels of a list, of which an image may have made any length. */
    private static Predicate<String> channels(String list) {
        Predicate<String> all = CHANNEL_NAME.asMatchPredicate();
        return list.equals("all")
                ? all
                : COMMA.splitAsStream(list)
                                .map(number -> CHANNEL + number.strip())
                                .filter(all)
                                .collect(Collectors.toSet())
                        ::contains;
    }

    private static List<DeviceNode> of(Host host, Nodes wanted) throws IOException {
        Path directory = host.resolve(wanted.directory());
        List<DeviceNode> nodes = new ArrayList<>();
        if (!Files.isDirectory(directory)) {
            return nodes;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                long device = wanted.name().test(name) ? FileStatus.of(entry).characterDevice() : 0;
                if (device != 0) {
                    nodes.add(
                            new DeviceNode(
                                    wanted.directory() + "/" + name,
                                    entry,
                                    Posix.major(device),
                                    Posix.minor(device)));
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return nodes;
    }
}
