package jnvdocker.container;

import jnvdocker.host.Gpu;

import java.util.List;
import java.util.Map;

/**
 * The GPUs that a container was given, and what it carries to show for them.
 *
 * @param gpus in order of index
 * @param mounts volumes that stand for its right to the GPUs
 * @param observes whether it gets no node by which CUDA computes
 */
public record Allocation(
        List<Gpu> gpus, List<VolumeMount> mounts, Map<String, String> labels, boolean observes) {
    /** No GPU, for which nothing is carried. */
    public static final Allocation NONE = new Allocation(List.of(), List.of(), Map.of());

    /** GPUs to compute on. */
    public Allocation(List<Gpu> gpus, List<VolumeMount> mounts, Map<String, String> labels) {
        this(gpus, mounts, labels, false);
    }

    /** All GPUs of a host, for a container that observes them. */
    public static Allocation observing(List<Gpu> gpus) {
        return new Allocation(gpus, List.of(), Map.of(), true);
    }

    public Allocation {
        gpus = List.copyOf(gpus);
        mounts = List.copyOf(mounts);
        labels = Map.copyOf(labels);
    }
}
