package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The facts from the driver's NVML that matter for a choice, of which there may be none, and which
 * GPUs may be shared.
 *
 * @param memory bytes, by UUID
 * @param shareable the UUIDs of the GPUs that may be shared, if their memory is known
 */
public record GpuTraits(Connections connections, Map<String, Long> memory, Set<String> shareable) {
    public static final GpuTraits UNKNOWN = new GpuTraits(Connections.UNKNOWN, Map.of());

    public GpuTraits {
        memory = Map.copyOf(memory);
        shareable = Set.copyOf(shareable);
    }

    /** The facts from NVML alone. */
    public GpuTraits(Connections connections, Map<String, Long> memory) {
        this(connections, memory, Set.of());
    }

    /** A copy that knows which of these GPUs may be shared. */
    public GpuTraits sharing(List<Gpu> gpus, LeasePolicy rules) {
        Stream<Gpu> shareable = gpus.stream().filter(rules::shares);
        return new GpuTraits(
                connections, memory, shareable.map(Gpu::uuid).collect(Collectors.toSet()));
    }

    /** A copy that has the memory of GPUs from the shares of a claim, whatever NVML reports now. */
    public GpuTraits knowing(Claim claim) {
        Map<String, Long> known = new HashMap<>(memory);
        claim.gpus()
                .forEach(gpu -> gpu.share().ifPresent(its -> known.put(gpu.uuid(), its.memory())));
        return new GpuTraits(connections, known, shareable);
    }

    /** How many bytes of a GPU's memory its shares may have together; 0 if it is not shared. */
    long shareLimit(Gpu gpu) {
        return shareable.contains(gpu.uuid())
                ? Share.limit(memory.getOrDefault(gpu.uuid(), 0L))
                : 0;
    }

    /** That amount of a GPU, of which the memory is known. */
    public Optional<Share> share(GpuFilter filter, Gpu gpu) {
        return filter.share().map(amount -> new Share(amount, memory.get(gpu.uuid())));
    }

    /** The GPUs that one counts as, of those that meet the condition, when it is given by that. */
    double count(GpuFilter filter, Gpu gpu) {
        return share(filter, gpu).map(Share::part).orElseGet(gpu::count);
    }

    /**
     * The GPUs that a number of them count as at least, all as large as the largest of the smallest
     * ones that meet the condition; their number if there are too few.
     */
    double count(GpuRequest.Count requested, List<Gpu> gpus) {
        return requested.gpus()
                * matching(requested.filter(), gpus).stream()
                        .mapToDouble(gpu -> count(requested.filter(), gpu))
                        .sorted()
                        .skip(requested.gpus() - 1)
                        .findFirst()
                        .orElse(1);
    }

    private List<Gpu> matching(GpuFilter filter, List<Gpu> gpus) {
        return gpus.stream().filter(gpu -> meets(filter, gpu)).toList();
    }

    /** Whether a GPU meets a condition; one of unknown memory meets none on memory. */
    boolean meets(GpuFilter filter, Gpu gpu) {
        return filter.allowsModel(gpu.model()) && !lacks(filter, gpu) && !isUnclear(filter, gpu);
    }

    /** Whether a GPU may meet a condition, since its memory is not known. */
    boolean mayMeet(GpuFilter filter, Gpu gpu) {
        return filter.allowsModel(gpu.model()) && isUnclear(filter, gpu);
    }

    private boolean isUnclear(GpuFilter filter, Gpu gpu) {
        boolean matters =
                filter.memory().isPresent()
                        || filter.share().isPresent() && shareable.contains(gpu.uuid());
        return matters && !memory.containsKey(gpu.uuid());
    }

    private boolean lacks(GpuFilter filter, Gpu gpu) {
        return filter.memory()
                        .filter(least -> memory.getOrDefault(gpu.uuid(), 0L) < least.bytes())
                        .isPresent()
                || filter.share().filter(its -> shareLimit(gpu) < its.bytes()).isPresent();
    }
}
