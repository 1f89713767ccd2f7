package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuFilter;

import java.util.List;
import java.util.Map;

/**
 * What the driver's NVML tells of the GPUs that matters for a choice, which may be nothing.
 *
 * @param memory bytes, by UUID
 */
public record GpuTraits(Connections connections, Map<String, Long> memory) {
    public static final GpuTraits UNKNOWN = new GpuTraits(Connections.UNKNOWN, Map.of());

    public GpuTraits {
        memory = Map.copyOf(memory);
    }

    /** The GPUs of some that are what is requested. One whose memory is unknown is not. */
    List<Gpu> matching(GpuFilter filter, List<Gpu> gpus) {
        return gpus.stream()
                .filter(gpu -> filter.allowsModel(gpu.model()))
                .filter(gpu -> !lacks(filter, gpu) && !isUnclear(filter, gpu))
                .toList();
    }

    /** Those that may be: of which it is not known whether they have as much memory. */
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
