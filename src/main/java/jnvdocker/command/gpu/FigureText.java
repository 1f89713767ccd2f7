package jnvdocker.command.gpu;

import jnvdocker.lease.GpuStatus;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuMonitor.Reading;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** A GPU's figures as tables show them, in the units of nvidia-smi. */
final class FigureText {
    static final List<String> TITLES = List.of("UTIL", "MEM", "TEMP", "POWER");

    private static final String UNKNOWN = "-";
    private static final double GIB = 1 << 30;

    /** The driver itself takes less of the memory. */
    private static final double FILLED = 0.1;

    private FigureText() {}

    /** In the order of the titles; {@code -} for an unknown figure. */
    static List<String> cells(Optional<GpuFigures> figures) {
        return List.of(
                figures.map(it -> text(it.utilization().gpu(), "%")).orElse(UNKNOWN),
                figures.flatMap(GpuFigures::memory).map(FigureText::memory).orElse(UNKNOWN),
                figures.map(it -> text(it.temperature(), " C")).orElse(UNKNOWN),
                figures.map(it -> power(it.power())).orElse(UNKNOWN));
    }

    /** Notes on free GPUs that their memory is not free: a process may not be seen, or be gone. */
    static List<GpuStatus> noting(List<GpuStatus> gpus, Map<String, Reading> readings) {
        return gpus.stream()
                .map(status ->
                        Optional.ofNullable(readings.get(status.gpu().pciAddress()))
                                .map(reading -> reading.of(status.gpu()))
                                .flatMap(Reading::figures)
                                .flatMap(GpuFigures::memory)
                                .filter(_ -> status.state() == GpuStatus.State.FREE)
                                .filter(memory -> memory.used() > memory.total() * FILLED)
                                .map(memory -> status.noting("has " + memory(memory) + " in use"))
                                .orElse(status))
                .toList();
    }

    /** Returns {@code 95%}. */
    static String utilization(Optional<GpuFigures.GpuProcess> process) {
        return process.map(it -> text(it.utilization(), "%")).orElse(UNKNOWN);
    }

    /** Returns {@code 35.4 GiB}. */
    static String memory(Optional<GpuFigures.GpuProcess> process) {
        return process.filter(it -> it.memory().isPresent())
                .map(it -> String.format(Locale.ROOT, "%.1f GiB", it.memory().getAsLong() / GIB))
                .orElse(UNKNOWN);
    }

    private static String text(OptionalInt number, String unit) {
        return number.isPresent() ? number.getAsInt() + unit : UNKNOWN;
    }

    /** Returns {@code 36.0/40 GiB}: used and all. */
    static String memory(GpuFigures.Memory memory) {
        return String.format(
                Locale.ROOT, "%.1f/%.0f GiB", memory.used() / GIB, memory.total() / GIB);
    }

    private static String power(OptionalInt milliwatts) {
        return milliwatts.isPresent() ? Math.round(milliwatts.getAsInt() / 1000.0) + " W" : UNKNOWN;
    }
}
