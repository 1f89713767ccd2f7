package jnvdocker.daemon;

import jnvdocker.host.DeviceNode;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.NoDriverException;

import java.io.IOException;
import java.io.PrintStream;
import java.util.stream.Collectors;

/**
 * {@code jnvdockerd --make-nodes}: makes the driver's device nodes at boot, and their links.
 * dockerd reads a container's nodes before it mounts the container's volumes, so when it starts a
 * container on its own, it would miss nodes that only jnvdockerd makes.
 */
final class NodeMaker {
    private final DeviceNodes nodes;
    private final PrintStream out;

    NodeMaker(DeviceNodes nodes, PrintStream out) {
        this.nodes = nodes;
        this.out = out;
    }

    /**
     * Makes the nodes. Leaves a host without a driver as it is: booting without one is no failure.
     *
     * @throws IOException when a node cannot be made
     */
    void run() throws IOException {
        try {
            nodes.loadDriver();
        } catch (NoDriverException e) {
            out.println("jnvdocker: " + e.getMessage() + "; there are no device nodes to make");
            return;
        }
        String names = nodes.all().stream().map(DeviceNode::name).collect(Collectors.joining(", "));
        // Links are made for nodes that no container of ours needs, too.
        nodes.link();
        out.println("jnvdocker: device nodes are there: " + names);
    }
}
