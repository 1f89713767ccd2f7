package jnvdocker.tests.bench;

import java.util.Arrays;
import java.util.Locale;

/** Durations in nanoseconds, and their statistics. */
final class Samples {
    private final long[] nanos;
    private int count;

    Samples(int size) {
        nanos = new long[size];
    }

    synchronized void add(long duration) {
        nanos[count++] = duration;
    }

    /** In milliseconds. */
    double percentile(double percent) {
        long[] sorted = Arrays.copyOf(nanos, count);
        Arrays.sort(sorted);
        int at = (int) Math.ceil(percent / 100 * count) - 1;
        return sorted[Math.clamp(at, 0, count - 1)] / 1e6;
    }

    double median() {
        return percentile(50);
    }

    /** The count, the median, the quartiles as the spread, and the 99th percentile. */
    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "%5d   p50 %7.2f ms   quartiles %6.2f .. %6.2f ms   p99 %7.2f ms",
                count,
                median(),
                percentile(25),
                percentile(75),
                percentile(99));
    }
}
