package jnvdocker.command.start;

import jnvdocker.docker.cli.RunCommand;
import jnvdocker.host.Gpu;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * GPUs that a container gets by docker's own options for devices, known by minors. Such an option
 * requests these GPUs.
 *
 * @param nodes the GPUs among them with a node that has the name of a GPU's node in the container
 * @param option the option that names one of them, for messages: {@code a --device that names a
 *     GPU's node}
 */
record TypedGpus(Set<Integer> minors, Set<Integer> nodes, String option) {
    static final String DEVICE = "a --device that names a GPU's node";

    TypedGpus {
        minors = Set.copyOf(minors);
        nodes = Set.copyOf(nodes);
    }

    /** Judges by the names alone. */
    static TypedGpus byName(RunCommand run) {
        Set<Integer> minors = Set.copyOf(run.gpuNodes());
        return new TypedGpus(minors, minors, DEVICE);
    }

    boolean isEmpty() {
        return minors.isEmpty();
    }

    /** Returns the combined request of these options and {@code --gpus}. */
    GpuRequest with(Optional<GpuRequest> request, List<Gpu> gpus) throws RefusedException {
        Set<String> addresses = addresses(gpus);
        if (request.isEmpty()) {
            return new GpuRequest.Devices(List.copyOf(addresses));
        }
        return switch (request.get()) {
            case GpuRequest.All all -> all;
            case GpuRequest.Devices(List<String> ids) -> {
                GpuResolver.resolve(ids, gpus).forEach(gpu -> addresses.add(gpu.id()));
                yield new GpuRequest.Devices(List.copyOf(addresses));
            }
            case GpuRequest.Count _, GpuRequest.None _, GpuRequest.With _ ->
                    throw new RefusedException(
                            "--gpus=" + request.get() + " and " + option + " cannot be combined",
                            "name all GPUs in one of them, as --gpus '\"device=0,1\"'");
        };
    }

    private Set<String> addresses(List<Gpu> gpus) throws RefusedException {
        Set<String> addresses = new TreeSet<>();
        for (Gpu gpu : gpus) {
            if (minors.contains(gpu.minor())) {
                addresses.add(gpu.pciAddress());
            }
        }
        if (addresses.size() < minors.size()) {
            throw new RefusedException(
                    "--device names a GPU's node that this host does not have",
                    "'jnvdocker gpu ls' shows those that it has");
        }
        return addresses;
    }

    /** A request for all GPUs excludes those that are cordoned or sick. */
    void refuseUnlessAmong(List<Gpu> given, List<Gpu> gpus) throws RefusedException {
        for (Gpu gpu : gpus) {
            if (minors.contains(gpu.minor()) && !given.contains(gpu)) {
                throw new RefusedException(
                        option
                                + " gives the container GPU "
                                + gpu.number()
                                + ", which --gpus all leaves out ('jnvdocker gpu why "
                                + gpu.number()
                                + "' shows why)",
                        "leave one of the two options out");
            }
        }
    }
}
