package jnvdocker.use;

import jnvdocker.host.Gpu;
import jnvdocker.host.Part;

import java.util.List;
import java.util.Set;

/**
 * The capabilities of MIG instances that somebody has, who has nodes of GPUs as well.
 *
 * @param minors of the nodes in {@code /dev/nvidia-caps}
 */
record Capabilities(Set<Integer> minors) {
    static final Capabilities NONE = new Capabilities(Set.of());

    Capabilities {
        minors = Set.copyOf(minors);
    }

    /** Whether they tell which instances of a GPU he uses; else it may be any. */
    boolean distinguish(Gpu instance, List<Gpu> gpus) {
        return gpus.stream().anyMatch(gpu -> gpu.minor() == instance.minor() && include(gpu));
    }

    /** Whether they are those of an instance. */
    boolean include(Gpu instance) {
        return instance.part().map(Part::computeAccess).filter(minors::contains).isPresent();
    }

    /** Whether he may use a GPU whose node he has. */
    boolean allow(Gpu gpu, List<Gpu> gpus) {
        return gpu.part().isEmpty() || include(gpu) || !distinguish(gpu, gpus);
    }
}
