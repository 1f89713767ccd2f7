package jnvdocker.idle;

import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFigures;

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
        return of(OptionalInt.of(utilization), OptionalLong.of(memory), Optional.empty());
    }

    /** A GPU that is divided by MIG. */
    public static GpuFigures parted() {
        return of(
                OptionalInt.of(0),
                OptionalLong.of(1),
                Optional.of(new GpuFigures.Mig(true, List.of())));
    }

    private static GpuFigures of(
            OptionalInt utilization, OptionalLong memory, Optional<GpuFigures.Mig> mig) {
        OptionalInt none = OptionalInt.empty();
        return new GpuFigures(
                new GpuFigures.Utilization(utilization, none, none, none),
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
                List.of(new GpuFigures.GpuProcess(PID, memory, none, false)),
                Optional.empty(),
                Optional.empty(),
                mig);
    }
}
