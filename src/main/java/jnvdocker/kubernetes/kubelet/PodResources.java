package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import jnvdocker.kubernetes.Kubelet.ContainerDevices;
import jnvdocker.wire.WireMessage;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The pods of a kubelet with their devices: {@code ListPodResourcesResponse} of {@code v1}. */
public record PodResources(List<Pod> pods) {
    private static final int PODS = 1;
    private static final int NAME = 1;
    private static final int NAMESPACE = 2;
    private static final int CONTAINERS = 3;
    private static final int DEVICES = 2;
    private static final int RESOURCE = 1;
    private static final int IDS = 2;

    /** A pod; its uid is not in the message. */
    public record Pod(String name, String namespace, List<Container> containers) {
        public Pod {
            containers = List.copyOf(containers);
        }
    }

    /** A container with its devices, in whatever portions the kubelet names them. */
    public record Container(String name, List<Devices> devices) {
        public Container {
            devices = List.copyOf(devices);
        }
    }

    /** Some devices of a resource. */
    public record Devices(String resource, List<String> ids) {
        public Devices {
            ids = List.copyOf(ids);
        }
    }

    public PodResources {
        pods = List.copyOf(pods);
    }

    /**
     * @throws IOException when it is malformed
     */
    public static PodResources parse(ByteString bytes) throws IOException {
        List<Pod> pods = new ArrayList<>();
        for (WireMessage pod : WireMessage.parse(bytes).messages(PODS)) {
            List<Container> containers = new ArrayList<>();
            for (WireMessage container : pod.messages(CONTAINERS)) {
                containers.add(container(container));
            }
            pods.add(new Pod(text(pod, NAME), text(pod, NAMESPACE), containers));
        }
        return new PodResources(pods);
    }

    private static Container container(WireMessage container) throws IOException {
        List<Devices> devices = new ArrayList<>();
        for (WireMessage some : container.messages(DEVICES)) {
            devices.add(new Devices(text(some, RESOURCE), some.texts(IDS)));
        }
        return new Container(text(container, NAME), devices);
    }

    private static String text(WireMessage message, int field) {
        return message.text(field).orElse("");
    }

    /** One entry for each container and resource, sorted; a container without devices has none. */
    List<ContainerDevices> merged() {
        List<ContainerDevices> merged = new ArrayList<>();
        for (Pod pod : pods) {
            for (Container container : pod.containers()) {
                Map<String, Set<String>> ids = new LinkedHashMap<>();
                for (Devices some : container.devices()) {
                    ids.computeIfAbsent(some.resource(), _ -> new TreeSet<>()).addAll(some.ids());
                }
                ids.forEach((resource, its) ->
                        merged.add(
                                new ContainerDevices(
                                        pod.namespace(),
                                        pod.name(),
                                        container.name(),
                                        resource,
                                        its)));
            }
        }
        return merged;
    }
}
