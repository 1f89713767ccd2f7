package jnvdocker.use;

import jnvdocker.host.Gpu;
import jnvdocker.host.Part;

import java.util.List;
import java.util.Set;

/**
 * The capabilities of MIG instances that a process or container has, besides nodes of GPUs.
 *
 * @param minors of the nodes in {@code /dev/nvidia-caps}
 */
record Capabilities(Set<Integer> minors) {
    static final Capabilities NONE = new Capabilities(Set.of());

    Capabilities {
        minors = Set.copyOf(minors);
    }

    /** Whether they show which instances of this one's GPU are used; else it may be any. */
    boolean distinguish(Gpu instance, List<Gpu> gpus) {
        return gpus.stream().anyMatch(gpu -> gpu.minor() == instance.minor() && include(gpu));
    }

    /** Whether they are those of an instance. */
    boolean include(Gpu instance) {
        return instance.part().map(Part::computeAccess).filter(minors::contains).isPresent();
    }

    /** Whether they permit the use of a GPU to a process or container that has its node. */
    boolean allow(Gpu gpu, List<Gpu> gpus) {
        return gpu.part().isEmpty() || include(gpu) || !distinguish(gpu, gpus);
    }
}
