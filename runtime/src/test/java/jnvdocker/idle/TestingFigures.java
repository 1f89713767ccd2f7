package jnvdocker.idle;

import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuFigures.GpuProcess;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What NVML reports of a GPU, as far as idleness depends on it. */
public final class TestingFigures {
    private static final int PID = 4712;

    private TestingFigures() {}

    /**
     * A GPU with one process.
     *
     * @param utilization percent
     * @param memory bytes of the process
     */
    public static GpuFigures working(int utilization, long memory) {
        return of(
                utilization,
                List.of(process(PID, OptionalLong.of(memory), OptionalInt.empty())),
                Optional.empty());
    }

    /** A GPU with several processes. */
    static GpuFigures working(int utilization, GpuProcess... processes) {
        return of(utilization, List.of(processes), Optional.empty());
    }

    /**
     * A process of a GPU.
     *
     * @param utilization percent; empty where the driver does not report it
     */
    static GpuProcess process(int pid, OptionalLong memory, OptionalInt utilization) {
        return new GpuProcess(pid, memory, utilization, false);
    }

    /** A GPU that is divided by MIG. */
    public static GpuFigures parted() {
        return of(
                0,
                List.of(process(PID, OptionalLong.of(1), OptionalInt.empty())),
                Optional.of(new GpuFigures.Mig(true, List.of())));
    }

    private static GpuFigures of(
            int utilization, List<GpuProcess> processes, Optional<GpuFigures.Mig> mig) {
        OptionalInt none = OptionalInt.empty();
        return new GpuFigures(
                new GpuFigures.Utilization(OptionalInt.of(utilization), none, none, none),
                Optional.empty(),
                Optional.empty(),
                none,
                none,
                none,
                new GpuFacts.Clocks(none, none, none),
                new GpuFacts.PcieLink(none, none),
                new GpuFigures.Throughput(none, none),
                OptionalLong.empty(),
                new GpuFigures.Errors(
                        Optional.empty(),
                        OptionalLong.empty(),
                        OptionalLong.empty(),
                        none,
                        false,
                        none,
                        false,
                        new GpuFigures.Places(
                                OptionalLong.empty(), OptionalLong.empty(), OptionalLong.empty())),
                processes,
                Optional.empty(),
                Optional.empty(),
                mig);
    }
}
