package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import jnvdocker.kubernetes.Device;
import jnvdocker.wire.WireMessage;
import jnvdocker.wire.WireWriter;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** The devices of a plugin: {@code ListAndWatchResponse}. */
public record ListedDevices(List<Device> devices) {
    private static final String HEALTHY = "Healthy";
    private static final String UNHEALTHY = "Unhealthy";

    private static final int DEVICES = 1;
    private static final int ID = 1;
    private static final int HEALTH = 2;
    private static final int TOPOLOGY = 3;
    private static final int NODES = 1;
    private static final int NODE_ID = 1;

    public ListedDevices {
        devices = List.copyOf(devices);
    }

    /**
     * @throws IOException when it is malformed
     */
    public static ListedDevices parse(ByteString bytes) throws IOException {
        List<Device> devices = new ArrayList<>();
        for (WireMessage device : WireMessage.parse(bytes).messages(DEVICES)) {
            devices.add(
                    new Device(
                            device.text(ID).orElse(""),
                            device.text(HEALTH).orElse("").equals(HEALTHY),
                            numaNode(device)));
        }
        return new ListedDevices(devices);
    }

    /** The first one of several, which none of ours has. */
    private static OptionalInt numaNode(WireMessage device) throws IOException {
        Optional<WireMessage> topology = device.message(TOPOLOGY);
        if (topology.isEmpty()) {
            return OptionalInt.empty();
        }
        List<WireMessage> nodes = topology.get().messages(NODES);
        return nodes.isEmpty()
                ? OptionalInt.empty()
                : OptionalInt.of((int) nodes.getFirst().number(NODE_ID));
    }

    public ByteString bytes() {
        WireWriter list = new WireWriter();
        devices.forEach(device -> list.message(DEVICES, written(device)));
        return list.bytes();
    }

    private static WireWriter written(Device device) {
        WireWriter written =
                new WireWriter()
                        .text(ID, device.id())
                        .text(HEALTH, device.healthy() ? HEALTHY : UNHEALTHY);
        device.numaNode()
                .ifPresent(node ->
                        written.message(
                                TOPOLOGY,
                                new WireWriter()
                                        .message(NODES, new WireWriter().number(NODE_ID, node))));
        return written;
    }
}
