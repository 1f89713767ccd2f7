package jnvdocker.idle;

import jnvdocker.words.Span;

import java.time.Instant;
import java.util.Locale;

/** Puts idle GPUs into words. */
public final class IdleText {
    private static final double GIB = 1 << 30;

    private IdleText() {}

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
            case NODES -> "no process has had it open " + time;
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
