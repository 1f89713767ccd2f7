package jnvdocker.kubernetes;

import jnvdocker.kubernetes.Kubelet.ContainerDevices;
import jnvdocker.lease.Origin;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The containers that have devices: what a kubelet reports, which has the names of pods, and what
 * it keeps on disk, which has their uids and the init containers.
 *
 * @param containers that the kubelet lists; empty when it has not answered
 */
record DeviceHolders(List<ContainerDevices> containers, Checkpoint checkpoint) {
    /** Names of namespaces, pods and containers are those of DNS. */
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9.-]{0,252}");

    /** A device is its pod's, also when the pod has a name that we do not show. */
    DeviceHolders {
        containers = containers.stream().map(DeviceHolders::named).toList();
    }

    private static ContainerDevices named(ContainerDevices it) {
        boolean pod = isName(it.namespace()) && isName(it.pod());
        return new ContainerDevices(
                pod ? it.namespace() : "",
                pod ? it.pod() : "",
                isName(it.container()) ? it.container() : "",
                it.resource(),
                it.ids());
    }

    private static boolean isName(String text) {
        return NAME.matcher(text).matches();
    }

    /**
     * A container that is about to start.
     *
     * @param pod empty when neither the kubelet nor its file names it
     * @param container empty when several have the same devices, as an init container and the one
     *     after it do
     * @param entries what is on disk of it
     */
    record Found(
            Optional<Origin.Pod> pod, Optional<String> container, List<Checkpoint.Entry> entries) {
        /** Whether the pod's processes cannot be distinguished from others. */
        boolean isUnclear() {
            return pod.filter(it -> !it.uid().isEmpty()).isEmpty();
        }
    }

    /** Finds the container that has exactly these devices. */
    Found find(String resource, Set<String> ids) {
        List<ContainerDevices> named =
                containers.stream()
                        .filter(it -> it.resource().equals(resource) && it.ids().equals(ids))
                        .toList();
        List<Checkpoint.Entry> kept =
                checkpoint.entries().stream()
                        .filter(it -> it.resource().equals(resource) && it.ids().equals(ids))
                        .toList();
        Optional<String> uid =
                only(kept, Checkpoint.Entry::podUid)
                        .or(() -> only(named, it -> uid(it).orElse("")))
                        .filter(it -> !it.isEmpty());
        List<Checkpoint.Entry> its =
                kept.stream().filter(it -> uid.filter(it.podUid()::equals).isPresent()).toList();
        Optional<Origin.Pod> pod =
                uid.flatMap(this::pod)
                        .or(() -> only(named, it -> pod(it, uid.orElse(""))))
                        .or(() -> uid.map(it -> new Origin.Pod(it, "", "")));
        Stream<String> names =
                Stream.concat(
                        named.stream().map(ContainerDevices::container),
                        its.stream().map(Checkpoint.Entry::container));
        return new Found(
                pod, only(names.toList(), Function.identity()).filter(DeviceHolders::isName), its);
    }

    /**
     * The pods that the kubelet lists with a device, by its id, whatever resource it is one of; the
     * uid is empty where it is not known.
     */
    Map<String, Set<Origin.Pod>> listed() {
        Map<String, Set<Origin.Pod>> pods = new HashMap<>();
        for (ContainerDevices container : containers) {
            Origin.Pod pod = pod(container, uid(container).orElse(""));
            for (String id : container.ids()) {
                pods.computeIfAbsent(id, _ -> new LinkedHashSet<>()).add(pod);
            }
        }
        return pods;
    }

    /** Likewise the pods of the kubelet's file, some of which may be gone. */
    Map<String, Set<Origin.Pod>> remembered() {
        Map<String, Set<Origin.Pod>> pods = new HashMap<>();
        for (Checkpoint.Entry entry : checkpoint.entries()) {
            Origin.Pod pod = pod(entry.podUid()).orElse(new Origin.Pod(entry.podUid(), "", ""));
            for (String id : entry.ids()) {
                pods.computeIfAbsent(id, _ -> new LinkedHashSet<>()).add(pod);
            }
        }
        return pods;
    }

    /** The pod by its name, too, if one of its containers is listed. */
    private Optional<Origin.Pod> pod(String uid) {
        return containers.stream()
                .filter(it -> uid(it).filter(uid::equals).isPresent())
                .map(it -> pod(it, uid))
                .findFirst();
    }

    private static Origin.Pod pod(ContainerDevices container, String uid) {
        return new Origin.Pod(uid, container.namespace(), container.pod());
    }

    /**
     * The uid of a listed container's pod. A device is given to no other pod before the entries of
     * the last one are deleted.
     */
    private Optional<String> uid(ContainerDevices container) {
        List<Checkpoint.Entry> entries =
                checkpoint.entries().stream()
                        .filter(it -> it.resource().equals(container.resource()))
                        .filter(it -> it.ids().stream().anyMatch(container.ids()::contains))
                        .toList();
        List<Checkpoint.Entry> same =
                entries.stream()
                        .filter(it -> it.container().equals(container.container()))
                        .filter(it -> it.ids().equals(container.ids()))
                        .toList();
        return only(same.isEmpty() ? entries : same, Checkpoint.Entry::podUid);
    }

    /** The value that all have; empty when there are several, or none. */
    private static <T, V> Optional<V> only(List<T> all, Function<T, V> value) {
        Stream<V> values = all.stream().map(value).distinct().limit(2);
        List<V> some = values.toList();
        return some.size() == 1 ? Optional.of(some.getFirst()) : Optional.empty();
    }
}
