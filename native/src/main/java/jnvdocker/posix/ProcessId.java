package jnvdocker.posix;

/**
 * A process of this machine that no later one can be mistaken for: a pid comes again, with another
 * start time.
 *
 * @param startTime field 22 of {@code /proc/<pid>/stat}, in clock ticks since the boot
 */
public record ProcessId(int pid, long startTime) {}
