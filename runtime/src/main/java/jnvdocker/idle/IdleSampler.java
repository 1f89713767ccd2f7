package jnvdocker.idle;

import jnvdocker.host.Gpu;
import jnvdocker.idle.GpuSample.Use;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Samples whether GPUs are used: which processes have their nodes open, and what NVML reports. */
final class IdleSampler {
    /** How long a query of the engine may take, where one is needed. */
    private static final Duration LIMIT = Duration.ofSeconds(1);

    private final GpuUses uses;
    private final Supplier<Map<String, Reading>> readings;

    /** The time of the last reading of each GPU, by PCI address: an old one says nothing new. */
    private final Map<String, Instant> known = new HashMap<>();

    /**
     * @param readings what NVML last reported of each GPU, by PCI address
     */
    IdleSampler(GpuUses uses, Supplier<Map<String, Reading>> readings) {
        this.uses = uses;
        this.readings = readings;
    }

    /**
     * Returns what is seen of each GPU.
     *
     * @param recent the greatest age at which an earlier scan of the processes is used again
     */
    Map<Gpu, GpuSample> sample(List<Gpu> gpus, Duration recent) {
        Set<Gpu> used = used(gpus, recent);
        // Until the containers are known, a use may be an image's that does not count.
        Use ifUsed = uses.knowsContainers() ? Use.USED : Use.UNKNOWN;
        Map<String, Reading> read = readings.get();
        Map<Gpu, GpuSample> samples = new HashMap<>();
        for (Gpu gpu : gpus) {
            Optional<Reading> reading =
                    Optional.ofNullable(read.get(gpu.pciAddress())).map(it -> it.of(gpu));
            Use nodes = used.contains(gpu) ? ifUsed : Use.IDLE;
            samples.put(
                    gpu,
                    new GpuSample(
                            gpu.isIdentified() ? nodes : Use.UNKNOWN,
                            reading.filter(it -> isNew(gpu, it))
                                    .flatMap(Reading::figures)
                                    .map(IdleSampler::use)
                                    .orElse(Use.UNKNOWN),
                            reading.flatMap(Reading::figures)
                                    // NVML reports the processes of a whole GPU only.
                                    .filter(_ -> gpu.part().isEmpty())
                                    .map(IdleSampler::memory)
                                    .orElse(OptionalLong.empty())));
        }
        return samples;
    }

    /** A process that may have a node open counts like one that has. */
    private Set<Gpu> used(List<Gpu> gpus, Duration recent) {
        List<GpuUse> found = uses.processes(gpus, recent);
        if (!found.isEmpty() && !uses.knowsContainers()) {
            found = uses.scan(gpus, LIMIT);
        }
        return found.stream()
                .filter(use -> use.process().isPresent())
                .map(GpuUse::gpu)
                .collect(Collectors.toSet());
    }

    private boolean isNew(Gpu gpu, Reading reading) {
        return !reading.at().equals(known.put(gpu.pciAddress(), reading.at()));
    }

    /** A GPU that is parted has no utilization as a whole, whatever its driver says. */
    private static Use use(GpuFigures figures) {
        boolean parted = figures.mig().filter(GpuFigures.Mig::enabled).isPresent();
        OptionalInt gpu = figures.utilization().gpu();
        if (parted || gpu.isEmpty()) {
            return Use.UNKNOWN;
        }
        boolean works =
                Stream.concat(
                                Stream.of(
                                        gpu,
                                        figures.utilization().encoder(),
                                        figures.utilization().decoder()),
                                figures.processes().stream()
                                        .map(GpuFigures.GpuProcess::utilization))
                        .anyMatch(it -> it.orElse(0) > 0);
        return works ? Use.USED : Use.IDLE;
    }

    private static OptionalLong memory(GpuFigures figures) {
        List<OptionalLong> known =
                figures.processes().stream()
                        .map(GpuFigures.GpuProcess::memory)
                        .filter(OptionalLong::isPresent)
                        .toList();
        return known.isEmpty() && !figures.processes().isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(known.stream().mapToLong(OptionalLong::getAsLong).sum());
    }
}
