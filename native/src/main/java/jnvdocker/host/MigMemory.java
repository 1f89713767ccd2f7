package jnvdocker.host;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What was last reported of the MIG mode of GPUs. The driver's files show the instances of a GPU,
 * but neither their UUIDs nor a MIG mode without any instance. Answers from memory.
 */
public final class MigMemory {
    private final Map<String, Mode> modes = new ConcurrentHashMap<>();

    /**
     * @param enabled whether only the instances of the GPU can be used
     */
    public record Mode(boolean enabled, List<Instance> instances) {
        public Mode {
            instances = List.copyOf(instances);
        }
    }

    /**
     * An instance as NVML reports it.
     *
     * @param uuid {@code MIG-…}
     * @param number its number among the GPU's instances
     * @param model {@code NVIDIA A100-SXM4-40GB MIG 1g.5gb}
     * @param slices of the GPU that compute for it; empty if NVML does not report them
     */
    public record Instance(
            String uuid,
            int number,
            int gpuInstance,
            int computeInstance,
            String model,
            Optional<Part.Slices> slices) {}

    /** Replaces what is known of the GPU. */
    public void report(String pciAddress, Mode mode) {
        modes.put(pciAddress, mode);
    }

    Optional<Mode> of(String pciAddress) {
        return Optional.ofNullable(modes.get(pciAddress));
    }
}
