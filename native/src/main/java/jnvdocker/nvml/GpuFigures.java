package jnvdocker.nvml;

import jnvdocker.host.Part.Slices;
import jnvdocker.nvml.GpuFacts.Clocks;
import jnvdocker.nvml.GpuFacts.PcieLink;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The state of a GPU at one moment, as far as the driver reports it.
 *
 * @param power milliwatts
 * @param temperature of the GPU, in degrees Celsius
 * @param fan percent of its greatest speed
 * @param throttling the reasons for clocks lower than they could be, as a set of NVML's bits
 */
public record GpuFigures(
        Utilization utilization,
        Optional<Memory> memory,
        Optional<Memory> bar1,
        OptionalInt power,
        OptionalInt temperature,
        OptionalInt fan,
        Clocks clocks,
        PcieLink link,
        Throughput throughput,
        OptionalLong throttling,
        Errors errors,
        List<GpuProcess> processes,
        Optional<ComputeMode> computeMode,
        Optional<Boolean> persistent,
        Optional<Mig> mig) {

    public GpuFigures {
        processes = List.copyOf(processes);
    }

    /**
     * Returns what is known of a MIG instance: its own memory, and the figures of the whole GPU,
     * without BAR1 and without the utilization, which the driver does not report.
     *
     * @param uuid the instance's
     */
    public GpuFigures ofPart(String uuid) {
        Optional<Memory> own =
                mig.stream()
                        .flatMap(it -> it.instances().stream())
                        .filter(instance -> instance.uuid().equals(uuid))
                        .findFirst()
                        .flatMap(MigInstance::memory);
        return new GpuFigures(
                new Utilization(
                        OptionalInt.empty(),
                        OptionalInt.empty(),
                        OptionalInt.empty(),
                        OptionalInt.empty()),
                own,
                Optional.empty(),
                power,
                temperature,
                fan,
                clocks,
                link,
                throughput,
                throttling,
                errors,
                processes,
                computeMode,
                persistent,
                mig);
    }

    /** Percent of the driver's last sample period, a sixth of a second to a second. */
    public record Utilization(
            OptionalInt gpu, OptionalInt memory, OptionalInt encoder, OptionalInt decoder) {}

    /** Over PCIe, in kilobytes a second. */
    public record Throughput(OptionalInt sent, OptionalInt received) {}

    /**
     * @param enabled whether the GPU is parted, and only its instances can be used
     */
    public record Mig(boolean enabled, List<MigInstance> instances) {
        public Mig {
            instances = List.copyOf(instances);
        }
    }

    /**
     * A compute instance, which a program sees as a GPU of its own.
     *
     * @param uuid {@code MIG-…}
     * @param number its number among the GPU's instances
     * @param gpuInstance the number of the part of the GPU
     * @param model {@code NVIDIA A100-SXM4-40GB MIG 1g.5gb}
     * @param slices of the GPU that compute for it
     */
    public record MigInstance(
            String uuid,
            int number,
            int gpuInstance,
            int computeInstance,
            String model,
            Optional<Memory> memory,
            Optional<Slices> slices) {}

    /** In bytes. With drivers before 510, what the driver keeps for itself counts as used. */
    public record Memory(long total, long used) {}

    /**
     * Errors of the GPU's memory.
     *
     * @param ecc whether errors are corrected
     * @param corrected since the driver was loaded
     * @param uncorrected since the driver was loaded
     * @param retiredPages since the GPU was made, for either cause
     * @param retirementPending whether a page or row is to be taken out of use at the next reset
     * @param remappedRows since the GPU was made
     * @param remappingFailed whether no spare row was left
     * @param uncorrectedIn where the uncorrected ones were
     */
    public record Errors(
            Optional<Boolean> ecc,
            OptionalLong corrected,
            OptionalLong uncorrected,
            OptionalInt retiredPages,
            boolean retirementPending,
            OptionalInt remappedRows,
            boolean remappingFailed,
            Places uncorrectedIn) {}

    /** Errors by the memory that they were in, since the driver was loaded. */
    public record Places(OptionalLong l1Cache, OptionalLong l2Cache, OptionalLong deviceMemory) {}

    /**
     * A process that has memory of the GPU.
     *
     * @param pid in the daemon's pid namespace
     * @param memory bytes; empty where the driver does not report it
     * @param utilization percent of the GPU's time of the last seconds; empty where the driver does
     *     not report it
     * @param graphics whether it draws, and does not compute
     */
    public record GpuProcess(
            long pid, OptionalLong memory, OptionalInt utilization, boolean graphics) {}

    /** In the order of {@code nvmlComputeMode_t}. */
    public enum ComputeMode {
        DEFAULT,
        EXCLUSIVE_THREAD,
        PROHIBITED,
        EXCLUSIVE_PROCESS;

        static Optional<ComputeMode> of(int number) {
            return number >= 0 && number < values().length
                    ? Optional.of(values()[number])
                    : Optional.empty();
        }
    }
}
