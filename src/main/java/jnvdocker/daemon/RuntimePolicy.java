package jnvdocker.daemon;

import jnvdocker.lease.ObserverPolicy;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.request.GpuRequest;

import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/**
 * The lab's policy for containers that our OCI runtime creates: the table {@code [runtime]} of the
 * configuration.
 *
 * @param imagesGetNone whether an image that requests GPUs gets none if nothing else requests them;
 *     else it gets {@code default_gpus}
 * @param allMeans the GPUs for a request for all GPUs
 * @param busyRetries whether a container with a restart policy tries again when its GPUs are taken
 *     and no user has typed its start; else the start is refused for good
 * @param real the real runtime; empty when the installer is to find it
 * @param cdiNvidia whether our CDI devices have NVIDIA's names as well
 * @param trustedOwners the evidence of a container's owner that counts; other evidence is a guess
 * @param swarmResources names of Swarm's generic resources that are GPUs
 * @param observers which containers may observe the GPUs without holding them
 */
record RuntimePolicy(
        boolean imagesGetNone,
        GpuRequest allMeans,
        boolean busyRetries,
        Optional<Path> real,
        boolean cdiNvidia,
        Set<ContainerOwner.Trust> trustedOwners,
        Set<String> swarmResources,
        ObserverPolicy observers) {
    /** The names in docker's own documentation and in NVIDIA's. */
    static final Set<String> SWARM_RESOURCES = Set.of("NVIDIA-GPU", "GPU");

    RuntimePolicy {
        trustedOwners = Set.copyOf(trustedOwners);
        swarmResources = Set.copyOf(swarmResources);
    }
}
