package jnvdocker.command.gpu;

import jnvdocker.nvml.GpuFigures;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

/** A GPU's figures as tables show them, in the units of nvidia-smi. */
final class FigureText {
    static final List<String> TITLES = List.of("UTIL", "MEM", "TEMP", "POWER");

    private static final String UNKNOWN = "-";
    private static final double GIB = 1 << 30;

    private FigureText() {}

    /** In the order of the titles; {@code -} for an unknown figure. */
    static List<String> cells(Optional<GpuFigures> figures) {
        return List.of(
                figures.map(it -> text(it.utilization().gpu(), "%")).orElse(UNKNOWN),
                figures.flatMap(GpuFigures::memory).map(FigureText::memory).orElse(UNKNOWN),
                figures.map(it -> text(it.temperature(), " C")).orElse(UNKNOWN),
                figures.map(it -> power(it.power())).orElse(UNKNOWN));
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

    /** Returns {@code 8.1/9.3 GiB}. */
    static String used(long bytes, long of) {
        return String.format(Locale.ROOT, "%.1f/%.1f GiB", bytes / GIB, of / GIB);
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
