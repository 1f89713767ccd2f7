package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import jnvdocker.kubernetes.DeviceEdits;
import jnvdocker.wire.WireWriter;

import java.util.List;
import java.util.TreeMap;

/** The edits of containers with devices: {@code AllocateResponse}. */
public record AllocateAnswer(List<Container> containers) {
    private static final int CONTAINERS = 1;
    private static final int VARIABLES = 1;
    private static final int MOUNTS = 2;
    private static final int DEVICES = 3;
    private static final int CDI = 5;
    private static final int CDI_NAME = 1;

    /** Both are fields of a mount and of a device. */
    private static final int IN_CONTAINER = 1;

    private static final int ON_HOST = 2;
    private static final int THIRD = 3;

    /**
     * What one container gets: {@code ContainerAllocateResponse}, which a kubelet also keeps.
     *
     * @param cdi names of devices
     */
    public record Container(
            List<Variable> variables, List<Mount> mounts, List<Node> nodes, List<String> cdi) {
        public Container {
            variables = List.copyOf(variables);
            mounts = List.copyOf(mounts);
            nodes = List.copyOf(nodes);
            cdi = List.copyOf(cdi);
        }

        /** The variables are sorted by their names. */
        static Container of(DeviceEdits edits) {
            return new Container(
                    new TreeMap<>(edits.environment())
                            .entrySet().stream()
                                    .map(it -> new Variable(it.getKey(), it.getValue()))
                                    .toList(),
                    edits.mounts().stream()
                            .map(it -> new Mount(it.containerPath(), it.hostPath(), true))
                            .toList(),
                    edits.nodes().stream()
                            .map(it -> new Node(it.containerPath(), it.hostPath(), "rw"))
                            .toList(),
                    edits.cdi());
        }

        WireWriter written() {
            WireWriter written = new WireWriter();
            variables.forEach(it -> written.entry(VARIABLES, it.name(), it.value()));
            mounts.forEach(it ->
                    written.message(
                            MOUNTS,
                            paths(it.containerPath(), it.hostPath()).flag(THIRD, it.readOnly())));
            nodes.forEach(it ->
                    written.message(
                            DEVICES,
                            paths(it.containerPath(), it.hostPath())
                                    .text(THIRD, it.permissions())));
            cdi.forEach(it -> written.message(CDI, new WireWriter().text(CDI_NAME, it)));
            return written;
        }

        private static WireWriter paths(String containerPath, String hostPath) {
            return new WireWriter().text(IN_CONTAINER, containerPath).text(ON_HOST, hostPath);
        }
    }

    /** A variable of the container's environment. */
    public record Variable(String name, String value) {}

    /** A file or directory of the host's. */
    public record Mount(String containerPath, String hostPath, boolean readOnly) {}

    /**
     * A device node.
     *
     * @param permissions some of {@code rwm}
     */
    public record Node(String containerPath, String hostPath, String permissions) {}

    public AllocateAnswer {
        containers = List.copyOf(containers);
    }

    public ByteString bytes() {
        WireWriter answer = new WireWriter();
        containers.forEach(container -> answer.message(CONTAINERS, container.written()));
        return answer.bytes();
    }
}
