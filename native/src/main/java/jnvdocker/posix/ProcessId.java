package jnvdocker.posix;

import java.time.Instant;

/**
 * A process of this machine, never to be confused with a later one: a pid is reused, with another
 * start time.
 *
 * @param startTime field 22 of {@code /proc/<pid>/stat}, in clock ticks since the boot
 */
public record ProcessId(int pid, long startTime) {
    /**
     * The length of a clock tick, as the kernel reports it to programs on every machine we know
     * (USER_HZ).
     */
    private static final long MILLIS = 10;

    /**
     * Returns when the process began.
     *
     * @param boot when the machine booted
     */
    public Instant since(Instant boot) {
        return boot.plusMillis(MILLIS * startTime);
    }
}
