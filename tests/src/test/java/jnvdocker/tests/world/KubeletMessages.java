package jnvdocker.tests.world;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;

import jnvdocker.kubernetes.kubelet.AllocateAnswer;
import jnvdocker.kubernetes.kubelet.PluginOptions;
import jnvdocker.kubernetes.kubelet.PodResources;
import jnvdocker.kubernetes.kubelet.PreferredRequest;
import jnvdocker.kubernetes.kubelet.RegisterRequest;
import jnvdocker.wire.WireMessage;
import jnvdocker.wire.WireWriter;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The messages between a kubelet and a plugin, as the kubelet reads and writes them. Whatever is
 * malformed is an {@link IOException}.
 */
public final class KubeletMessages {
    private KubeletMessages() {}

    /** A {@code RegisterRequest}. */
    public static RegisterRequest registration(ByteString bytes) throws IOException {
        WireMessage message = WireMessage.parse(bytes);
        return new RegisterRequest(
                text(message, 1),
                text(message, 2),
                text(message, 3),
                options(message.message(4).orElse(WireMessage.parse(ByteString.EMPTY))));
    }

    /** {@code DevicePluginOptions}. */
    public static PluginOptions options(ByteString bytes) throws IOException {
        return options(WireMessage.parse(bytes));
    }

    private static PluginOptions options(WireMessage message) {
        return new PluginOptions(message.number(1) != 0, message.number(2) != 0);
    }

    /** A {@code PreferredAllocationRequest}. */
    public static ByteString bytes(PreferredRequest request) {
        WireWriter written = new WireWriter();
        for (PreferredRequest.Choice container : request.containers()) {
            written.message(
                    1,
                    new WireWriter()
                            .texts(1, container.available())
                            .texts(2, container.included())
                            .number(3, container.size()));
        }
        return written.bytes();
    }

    /** An {@code AllocateResponse}. */
    public static AllocateAnswer allocated(ByteString bytes) throws IOException {
        List<AllocateAnswer.Container> containers = new ArrayList<>();
        for (WireMessage container : WireMessage.parse(bytes).messages(1)) {
            containers.add(container(container));
        }
        return new AllocateAnswer(containers);
    }

    /** A {@code ContainerAllocateResponse}, which a kubelet keeps. */
    public static AllocateAnswer.Container container(ByteString bytes) throws IOException {
        return container(WireMessage.parse(bytes));
    }

    private static AllocateAnswer.Container container(WireMessage message) throws IOException {
        List<AllocateAnswer.Variable> variables = new ArrayList<>();
        for (WireMessage it : message.messages(1)) {
            variables.add(new AllocateAnswer.Variable(text(it, 1), text(it, 2)));
        }
        List<AllocateAnswer.Mount> mounts = new ArrayList<>();
        for (WireMessage it : message.messages(2)) {
            mounts.add(new AllocateAnswer.Mount(text(it, 1), text(it, 2), it.number(3) != 0));
        }
        List<AllocateAnswer.Node> nodes = new ArrayList<>();
        for (WireMessage it : message.messages(3)) {
            nodes.add(new AllocateAnswer.Node(text(it, 1), text(it, 2), text(it, 3)));
        }
        List<String> cdi = new ArrayList<>();
        for (WireMessage it : message.messages(5)) {
            cdi.add(text(it, 1));
        }
        return new AllocateAnswer.Container(variables, mounts, nodes, cdi);
    }

    /** The same, written. */
    public static ByteString bytes(AllocateAnswer.Container container) throws IOException {
        CodedInputStream all = new AllocateAnswer(List.of(container)).bytes().newCodedInput();
        all.readTag();
        return all.readBytes();
    }

    /** A {@code PreStartContainerRequest}. */
    public static ByteString start(List<String> ids) {
        return new WireWriter().texts(1, ids).bytes();
    }

    /** A {@code ListPodResourcesResponse} of {@code v1}. */
    public static ByteString bytes(PodResources list) {
        WireWriter written = new WireWriter();
        list.pods().forEach(pod -> written.message(1, written(pod)));
        return written.bytes();
    }

    private static WireWriter written(PodResources.Pod pod) {
        WireWriter written = new WireWriter().text(1, pod.name()).text(2, pod.namespace());
        for (PodResources.Container container : pod.containers()) {
            WireWriter devices = new WireWriter().text(1, container.name());
            for (PodResources.Devices some : container.devices()) {
                devices.message(2, new WireWriter().text(1, some.resource()).texts(2, some.ids()));
            }
            written.message(3, devices);
        }
        return written;
    }

    private static String text(WireMessage message, int field) {
        return message.text(field).orElse("");
    }
}
