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
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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

    /** The nodes of one directory of which a variable requests all. */
    private record Nodes(String directory, Pattern name) {}

    private static final Map<String, Nodes> NODES =
            Map.of(
                    "NVIDIA_GDS", new Nodes("/dev", Pattern.compile("nvidia-fs[0-9]*")),
                    "NVIDIA_GDRCOPY", new Nodes("/dev", Pattern.compile("gdrdrv")),
                    "NVIDIA_MOFED",
                            new Nodes("/dev/infiniband", Pattern.compile("uverbs[0-9]+|rdma_cm")),
                    "NVIDIA_NVSWITCH",
                            new Nodes("/dev", Pattern.compile("nvidia-nvswitch(ctl|[0-9]+)")));

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
            String numbers =
                    channels.equals("all")
                            ? "[0-9]+"
                            : Stream.of(channels.split(","))
                                    .map(number -> Pattern.quote(number.strip()))
                                    .collect(Collectors.joining("|", "(", ")"));
            Pattern name = Pattern.compile("channel" + numbers);
            nodes.addAll(of(host, new Nodes("/dev/nvidia-caps-imex-channels", name)));
        }
        nodes.sort(Comparator.comparing(DeviceNode::name));
        return nodes;
    }

    /** Whether a container's variables request GPUDirect Storage, which needs files besides. */
    public static boolean wantsStorage(Map<String, String> variables) {
        return ENABLED.equals(variables.get("NVIDIA_GDS"));
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
                long device =
                        wanted.name().matcher(name).matches()
                                ? FileStatus.of(entry).characterDevice()
                                : 0;
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
