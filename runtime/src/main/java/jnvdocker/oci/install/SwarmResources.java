package jnvdocker.oci.install;

import jnvdocker.host.Gpu;

import java.util.List;

/** GPUs as Swarm has them: a node's generic resources, each with a name of its own. */
public final class SwarmResources {
    /** As docker's pages call it; a service requests {@code --generic-resource NVIDIA-GPU=2}. */
    public static final String KIND = "NVIDIA-GPU";

    private SwarmResources() {}

    /** A node's, {@code NVIDIA-GPU=GPU-5c1a…}. */
    public static List<String> of(List<Gpu> gpus) {
        return gpus.stream().map(gpu -> KIND + "=" + gpu.uuid()).toList();
    }
}
