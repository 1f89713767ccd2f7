package jnvdocker.posix;

import java.time.Instant;

/**
 * A process of this machine that no later one can be mistaken for: a pid comes again, with another
 * start time.
 *
 * @param startTime field 22 of {@code /proc/<pid>/stat}, in clock ticks since the boot
 */
public record ProcessId(int pid, long startTime) {
    /**
     * Of a clock tick, which is what the kernel tells programs on every machine we know (USER_HZ).
     */
    private static final long MILLIS = 10;

    /**
     * When it began.
     *
     * @param boot when the machine did
     */
    public Instant since(Instant boot) {
        return boot.plusMillis(MILLIS * startTime);
    }
}
