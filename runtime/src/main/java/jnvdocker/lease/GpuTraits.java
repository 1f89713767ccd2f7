package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuFilter;

import java.util.List;
import java.util.Map;

/**
 * The facts from the driver's NVML that matter for a choice; there may be none.
 *
 * @param memory bytes, by UUID
 */
public record GpuTraits(Connections connections, Map<String, Long> memory) {
    public static final GpuTraits UNKNOWN = new GpuTraits(Connections.UNKNOWN, Map.of());

    public GpuTraits {
        memory = Map.copyOf(memory);
    }

    /** The GPUs that meet a condition; one of unknown memory meets none on memory. */
    public List<Gpu> matching(GpuFilter filter, List<Gpu> gpus) {
        return gpus.stream()
                .filter(gpu -> filter.allowsModel(gpu.model()))
                .filter(gpu -> !lacks(filter, gpu) && !isUnclear(filter, gpu))
                .toList();
    }

    /** GPUs that may be as well, since their memory is not known. */
    List<Gpu> unclear(GpuFilter filter, List<Gpu> gpus) {
        return gpus.stream()
                .filter(gpu -> filter.allowsModel(gpu.model()) && isUnclear(filter, gpu))
                .toList();
    }

    private boolean isUnclear(GpuFilter filter, Gpu gpu) {
        return filter.memory().isPresent() && !memory.containsKey(gpu.uuid());
    }

    private boolean lacks(GpuFilter filter, Gpu gpu) {
        return filter.memory()
                .filter(least -> memory.getOrDefault(gpu.uuid(), 0L) < least.bytes())
                .isPresent();
    }
}
