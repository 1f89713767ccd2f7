package jnvdocker.host;

import jnvdocker.posix.FileStatus;
import jnvdocker.posix.Posix;
import jnvdocker.posix.WholeFile;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The links {@code /dev/char/<major>:<minor>} to the driver's nodes, which udev makes for most
 * devices but not for these. Without its link, runc before 1.1.7 leaves a device out of the rules
 * that it hands to systemd, and the container loses the device when systemd next applies them.
 */
final class NodeLinks {
    private static final Logger LOG = LoggerFactory.getLogger(NodeLinks.class);
    private static final String NODES = "nvidia*";

    private final Host host;

    NodeLinks(Host host) {
        this.host = host;
    }

    /** Links a node. Without a link it is a node all the same, and doctor reports the link. */
    void make(DeviceNode node) {
        try {
            Path link = linkOf(node);
            // One that leads nowhere is replaced: its node had another name.
            if (!Files.exists(link)) {
                Files.createDirectories(link.getParent());
                Path dev = host.resolve("/dev");
                WholeFile.link(link, Path.of("..").resolve(dev.relativize(node.hostPath())));
            }
        } catch (IOException e) {
            LOG.debug("{} has no link", node.hostPath(), e);
        }
    }

    /** Links the nodes of {@link #missing}. */
    void makeMissing() {
        try {
            missing().forEach(this::make);
        } catch (IOException e) {
            LOG.debug("device nodes without links", e);
        }
    }

    /** The nodes that are there, made by any program, and that no link leads to. */
    List<DeviceNode> missing() throws IOException {
        List<DeviceNode> found = new ArrayList<>();
        Path dev = host.resolve("/dev");
        for (Path directory : List.of(dev, host.resolve("/dev/" + DeviceNodes.CAPS))) {
            if (!Files.isDirectory(directory)) {
                continue;
            }
            try (var entries = Files.newDirectoryStream(directory, NODES)) {
                for (Path path : entries) {
                    long device = FileStatus.of(path).characterDevice();
                    String name = "/dev/" + dev.relativize(path);
                    DeviceNode node =
                            new DeviceNode(name, path, Posix.major(device), Posix.minor(device));
                    if (device != 0 && !Files.exists(linkOf(node))) {
                        found.add(node);
                    }
                }
            }
        }
        found.sort(Comparator.comparingInt(DeviceNode::major).thenComparingInt(DeviceNode::minor));
        return found;
    }

    private Path linkOf(DeviceNode node) throws IOException {
        return host.resolve("/dev/char").resolve(node.major() + ":" + node.minor());
    }
}
