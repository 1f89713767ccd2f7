package jnvdocker.command.gpu.view;

import jnvdocker.nvml.GpuFigures;
import jnvdocker.screen.Column;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;

/** A GPU's figures as tables show them, in the units of nvidia-smi. */
public final class FigureText {
    private static final String UNKNOWN = "-";
    private static final double GIB = 1 << 30;

    private FigureText() {}

    /** Returns the columns of figures; {@code -} for an unknown figure. */
    public static <T> List<Column<T>> columns(Function<T, Optional<GpuFigures>> of) {
        return List.of(
                figure("UTIL", of, it -> text(it.utilization().gpu(), "%")),
                figure("MEM", of, it -> it.memory().map(FigureText::memory).orElse(UNKNOWN)),
                figure("TEMP", of, it -> text(it.temperature(), " C")),
                figure("POWER", of, it -> power(it.power())));
    }

    private static <T> Column<T> figure(
            String title, Function<T, Optional<GpuFigures>> of, Function<GpuFigures, String> text) {
        return Column.figure(title, row -> of.apply(row).map(text).orElse(UNKNOWN));
    }

    /** Returns {@code 95%}. */
    public static String utilization(Optional<GpuFigures.GpuProcess> process) {
        return process.map(it -> text(it.utilization(), "%")).orElse(UNKNOWN);
    }

    /** Returns {@code 35.4 GiB}. */
    public static String memory(Optional<GpuFigures.GpuProcess> process) {
        return process.filter(it -> it.memory().isPresent())
                .map(it -> String.format(Locale.ROOT, "%.1f GiB", it.memory().getAsLong() / GIB))
                .orElse(UNKNOWN);
    }

    /** Returns {@code 8.1/9.3 GiB}. */
    public static String used(long bytes, long of) {
        return String.format(Locale.ROOT, "%.1f/%.1f GiB", bytes / GIB, of / GIB);
    }

    private static String text(OptionalInt number, String unit) {
        return number.isPresent() ? number.getAsInt() + unit : UNKNOWN;
    }

    /** Returns {@code 36.0/40 GiB}: used and all. */
    public static String memory(GpuFigures.Memory memory) {
        return String.format(
                Locale.ROOT, "%.1f/%.0f GiB", memory.used() / GIB, memory.total() / GIB);
    }

    private static String power(OptionalInt milliwatts) {
        return milliwatts.isPresent() ? Math.round(milliwatts.getAsInt() / 1000.0) + " W" : UNKNOWN;
    }
}
