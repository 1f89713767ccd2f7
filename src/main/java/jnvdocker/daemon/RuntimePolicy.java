package jnvdocker.daemon;

import jnvdocker.request.GpuRequest;

import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/**
 * What the lab says of containers that our OCI runtime is told to create: the table {@code
 * [runtime]} of the configuration.
 *
 * @param imagesGetNone whether an image that asks for GPUs gets none when nobody else asks; else it
 *     gets {@code default_gpus}
 * @param allMeans what somebody gets who asks for all GPUs
 * @param busyRetries whether a container with a restart policy tries again when its GPUs are taken
 *     and nobody has typed its start; else that is refused for good
 * @param real the real runtime; empty when the installer looks for it
 * @param swarmResources names of Swarm's generic resources that are GPUs
 */
record RuntimePolicy(
        boolean imagesGetNone,
        GpuRequest allMeans,
        boolean busyRetries,
        Optional<Path> real,
        Set<String> swarmResources) {
    /** As docker's own pages call them, and as NVIDIA's do. */
    static final Set<String> SWARM_RESOURCES = Set.of("NVIDIA-GPU", "GPU");

    RuntimePolicy {
        swarmResources = Set.copyOf(swarmResources);
    }
}
