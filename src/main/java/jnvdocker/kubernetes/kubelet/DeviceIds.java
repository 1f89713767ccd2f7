package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import jnvdocker.wire.WireMessage;
import jnvdocker.wire.WireWriter;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The ids of devices, for each of some containers. Three messages have this form: {@code
 * AllocateRequest}, {@code PreferredAllocationResponse}, and, for the one container that it is
 * about and without the outer message, {@code PreStartContainerRequest}.
 */
public record DeviceIds(List<List<String>> containers) {
    private static final int CONTAINERS = 1;
    private static final int IDS = 1;

    public DeviceIds {
        containers = containers.stream().map(List::copyOf).toList();
    }

    /**
     * @throws IOException when it is malformed
     */
    public static DeviceIds parse(ByteString bytes) throws IOException {
        List<List<String>> containers = new ArrayList<>();
        for (WireMessage container : WireMessage.parse(bytes).messages(CONTAINERS)) {
            containers.add(container.texts(IDS));
        }
        return new DeviceIds(containers);
    }

    /**
     * Parses the ids of a {@code PreStartContainerRequest}.
     *
     * @throws IOException when it is malformed
     */
    public static List<String> parseOne(ByteString bytes) throws IOException {
        return WireMessage.parse(bytes).texts(IDS);
    }

    public ByteString bytes() {
        WireWriter all = new WireWriter();
        containers.forEach(ids -> all.message(CONTAINERS, new WireWriter().texts(IDS, ids)));
        return all.bytes();
    }
}
