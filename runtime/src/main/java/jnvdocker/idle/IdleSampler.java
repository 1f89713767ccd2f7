package jnvdocker.idle;

import jnvdocker.host.Gpu;
import jnvdocker.idle.GpuSample.Use;
import jnvdocker.lease.Lease;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuFigures.GpuProcess;
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
import java.util.function.BiPredicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Samples whether GPUs are used: which processes have their nodes open, and what NVML reports. A
 * process counts for its holder; one of no holder, or of one that is not known, for every holder of
 * the GPU.
 */
final class IdleSampler {
    /** How long a query of the engine may take, where one is needed. */
    private static final Duration LIMIT = Duration.ofSeconds(1);

    private final GpuUses uses;
    private final Supplier<Map<String, Reading>> readings;
    private final BiPredicate<GpuUse, Lease> isOf;

    /** The time of the last reading of each GPU, by PCI address: an old one says nothing new. */
    private final Map<String, Instant> known = new HashMap<>();

    /** The holders of GPUs at the last sample, by UUID. */
    private Map<String, Sharers> before = Map.of();

    /**
     * @param readings what NVML last reported of each GPU, by PCI address
     * @param isOf whether a use is that of a lease's holder
     */
    IdleSampler(
            GpuUses uses,
            Supplier<Map<String, Reading>> readings,
            BiPredicate<GpuUse, Lease> isOf) {
        this.uses = uses;
        this.readings = readings;
        this.isOf = isOf;
    }

    /**
     * Returns what is seen of each GPU, for each of its holders.
     *
     * @param held the leases of the GPUs
     * @param recent the greatest age at which an earlier scan of the processes is used again
     */
    Map<Gpu, Map<Lease, GpuSample>> sample(Map<Gpu, List<Lease>> held, Duration recent) {
        List<Gpu> gpus = List.copyOf(held.keySet());
        List<GpuUse> found = found(gpus, recent);
        // Until the containers are known, a use may be an image's that does not count.
        Use ifUsed = uses.knowsContainers() ? Use.USED : Use.UNKNOWN;
        Map<String, Reading> read = readings.get();
        Map<String, Sharers> sharers = new HashMap<>();
        Map<Gpu, Map<Lease, GpuSample>> samples = new HashMap<>();
        held.forEach((gpu, leases) -> {
            Optional<Reading> reading =
                    Optional.ofNullable(read.get(gpu.pciAddress())).map(it -> it.of(gpu));
            Sharers its =
                    Sharers.of(
                            leases,
                            found.stream().filter(use -> use.gpu().equals(gpu)).toList(),
                            isOf,
                            Optional.ofNullable(before.get(gpu.uuid())));
            sharers.put(gpu.uuid(), its);
            boolean isNew = reading.filter(it -> isNew(gpu, it)).isPresent();
            Map<Lease, GpuSample> ofLeases = new HashMap<>();
            for (Lease lease : leases) {
                ofLeases.put(
                        lease, sample(gpu, lease.claim().party(), its, ifUsed, reading, isNew));
            }
            samples.put(gpu, ofLeases);
        });
        before = sharers;
        return samples;
    }

    private static GpuSample sample(
            Gpu gpu,
            String party,
            Sharers sharers,
            Use ifUsed,
            Optional<Reading> reading,
            boolean isNew) {
        Use nodes = sharers.mayUse(party) ? ifUsed : Use.IDLE;
        return new GpuSample(
                gpu.isIdentified() ? nodes : Use.UNKNOWN,
                reading.filter(_ -> isNew)
                        .flatMap(Reading::figures)
                        .map(figures -> use(figures, party, sharers))
                        .orElse(Use.UNKNOWN),
                reading.flatMap(Reading::figures)
                        // NVML reports the processes of a whole GPU only.
                        .filter(_ -> gpu.part().isEmpty())
                        .map(figures -> memory(figures, party, sharers))
                        .orElse(OptionalLong.empty()));
    }

    /** A process that may have a node open counts like one that has. */
    private List<GpuUse> found(List<Gpu> gpus, Duration recent) {
        List<GpuUse> found = uses.processes(gpus, recent);
        if (!found.isEmpty() && !uses.knowsContainers()) {
            found = uses.scan(gpus, LIMIT);
        }
        return found.stream().filter(use -> use.process().isPresent()).toList();
    }

    private boolean isNew(Gpu gpu, Reading reading) {
        return !reading.at().equals(known.put(gpu.pciAddress(), reading.at()));
    }

    /**
     * A GPU that is parted has no utilization as a whole, whatever its driver says. Where the
     * driver does not report the work of each process, each that uses the GPU may do it.
     */
    private static Use use(GpuFigures figures, String party, Sharers sharers) {
        boolean parted = figures.mig().filter(GpuFigures.Mig::enabled).isPresent();
        OptionalInt gpu = figures.utilization().gpu();
        if (parted || gpu.isEmpty()) {
            return Use.UNKNOWN;
        }
        boolean codes =
                Stream.of(figures.utilization().encoder(), figures.utilization().decoder())
                        .anyMatch(it -> it.orElse(0) > 0);
        List<GpuProcess> working =
                figures.processes().stream().filter(it -> it.utilization().orElse(0) > 0).toList();
        if (gpu.getAsInt() == 0 && !codes && working.isEmpty()) {
            return Use.IDLE;
        }
        boolean isReported =
                !working.isEmpty()
                        && !codes
                        && figures.processes().stream()
                                .allMatch(it -> it.utilization().isPresent());
        boolean its =
                isReported
                        ? sharers.mayHaveOneOf(party, working)
                        : sharers.mayUse(party)
                                || sharers.mayHaveOneOf(party, figures.processes())
                                || sharers.isEmpty() && figures.processes().isEmpty();
        return its ? Use.USED : Use.IDLE;
    }

    private static OptionalLong memory(GpuFigures figures, String party, Sharers sharers) {
        List<OptionalLong> all =
                figures.processes().stream()
                        .filter(process -> sharers.has(party, process))
                        .map(GpuProcess::memory)
                        .toList();
        List<OptionalLong> known = all.stream().filter(OptionalLong::isPresent).toList();
        return known.isEmpty() && !all.isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(known.stream().mapToLong(OptionalLong::getAsLong).sum());
    }
}
