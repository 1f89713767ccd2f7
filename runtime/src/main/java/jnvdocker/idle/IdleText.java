package jnvdocker.idle;

import jnvdocker.words.Span;

import java.time.Instant;
import java.util.Locale;

/** Puts idle GPUs into words. */
public final class IdleText {
    private static final double GIB = 1 << 30;

    private IdleText() {}

    /**
     * Returns {@code no process}; of a shared GPU, which others may have open, {@code no process of
     * this holder}.
     */
    public static String noProcess(IdleHolder idle) {
        return idle.isShared() ? "no process of this holder" : "no process";
    }

    /** Returns {@code utilization 0}; of a shared GPU {@code utilization 0 by this holder}. */
    public static String noUse(IdleHolder idle) {
        return idle.isShared() ? "utilization 0 by this holder" : "utilization 0";
    }

    /**
     * Returns {@code no process has had it open for 3h}, or {@code idle for 3h of at most 4h, 12.0
     * GiB held}.
     */
    public static String note(IdleHolder idle, Instant now) {
        String time =
                "for "
                        + (idle.atLeast() ? "at least " : "")
                        + age(idle, now)
                        + idle.longest()
                                .map(it -> " of at most " + Span.text(it.limit()))
                                .orElse("");
        return switch (idle.source()) {
            case NODES -> noProcess(idle) + " has had it open " + time;
            case NVML -> "idle " + time + held(idle);
        };
    }

    private static String held(IdleHolder idle) {
        return idle.memory().orElse(0) == 0 ? "" : ", " + gib(idle.memory().getAsLong()) + " held";
    }

    /** Returns {@code 3h}. */
    public static String age(IdleHolder idle, Instant now) {
        return Span.text(idle.time(now));
    }

    /** Returns {@code 12.0 GiB}. */
    public static String gib(long bytes) {
        return String.format(Locale.ROOT, "%.1f GiB", bytes / GIB);
    }
}
