package jnvdocker.container;

import jnvdocker.host.Gpu;

import java.util.List;
import java.util.Map;

/**
 * The GPUs that a container was given, and what it carries to show for them.
 *
 * @param gpus in order of index
 * @param mounts volumes that stand for its right to the GPUs
 */
public record Allocation(List<Gpu> gpus, List<VolumeMount> mounts, Map<String, String> labels) {
    /** No GPU, for which nothing is carried. */
    public static final Allocation NONE = new Allocation(List.of(), List.of(), Map.of());

    public Allocation {
        gpus = List.copyOf(gpus);
        mounts = List.copyOf(mounts);
        labels = Map.copyOf(labels);
    }
}
