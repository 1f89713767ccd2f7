package jnvdocker.command.runtime;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** GPUs that a container gets by nodes or rules, which is a way to request them. */
final class NamedNodes {
    private NamedNodes() {}

    /**
     * @throws RefusedException when this host does not have all of them
     */
    static GpuRequest of(Set<Integer> minors, List<Gpu> gpus) throws RefusedException {
        return new GpuRequest.Devices(addresses(minors, gpus));
    }

    /** The minors of the host's GPUs. */
    static Set<Integer> minors(List<Gpu> gpus) {
        return gpus.stream().filter(Gpu::isIdentified).map(Gpu::minor).collect(Collectors.toSet());
    }

    private static List<String> addresses(Set<Integer> minors, List<Gpu> gpus)
            throws RefusedException {
        List<String> addresses =
                gpus.stream()
                        .filter(gpu -> minors.contains(gpu.minor()))
                        .map(Gpu::pciAddress)
                        .distinct()
                        .toList();
        if (addresses.size() < minors.size()) {
            throw new RefusedException(
                    "this container is given "
                            + nodes(minors)
                            + ", and this host does not have all of these GPUs",
                    "'jnvdocker gpu ls' shows those that it has");
        }
        return addresses;
    }

    /** Returns {@code /dev/nvidia0, /dev/nvidia2}. */
    static String nodes(Set<Integer> minors) {
        return new TreeSet<>(minors)
                .stream().map(DeviceNodes::nameOf).collect(Collectors.joining(", "));
    }

    /** Returns a request for both the requested GPUs and those that are given by name. */
    static GpuRequest with(GpuRequest request, Set<Integer> named, List<Gpu> gpus)
            throws RefusedException {
        if (named.isEmpty()) {
            return request;
        }
        return switch (request) {
            case GpuRequest.All all -> all;
            case GpuRequest.Devices(List<String> ids) -> {
                Set<String> addresses = new TreeSet<>(addresses(named, gpus));
                GpuResolver.resolve(ids, gpus).forEach(gpu -> addresses.add(gpu.id()));
                yield new GpuRequest.Devices(List.copyOf(addresses));
            }
            case GpuRequest.Count _, GpuRequest.None _, GpuRequest.With _ ->
                    throw new RefusedException(
                            "this container requests %s, and is given %s besides"
                                    .formatted(LeaseText.requested(request), nodes(named)),
                            "name all of its GPUs in one of the two");
        };
    }
}
