package jnvdocker.oci.install;

import jnvdocker.host.Gpu;

import java.util.List;

/**
 * GPUs as Swarm has them: a number of a node's generic resources. Swarm counts, and a task gets
 * GPUs of our choice: if they had names, it would choose without knowing which ones others hold.
 */
public final class SwarmResources {
    /** As docker's pages call it; a service requests {@code --generic-resource NVIDIA-GPU=2}. */
    public static final String KIND = "NVIDIA-GPU";

    private SwarmResources() {}

    /** A node's, {@code NVIDIA-GPU=4}; empty if it has no GPU. */
    public static List<String> of(List<Gpu> gpus) {
        return gpus.isEmpty() ? List.of() : List.of(KIND + "=" + gpus.size());
    }
}
