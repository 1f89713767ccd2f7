package jnvdocker.idle;

import java.util.OptionalLong;

/**
 * A sample of a held GPU.
 *
 * @param nodes whether a process has its node open
 * @param nvml whether the driver says that it works
 * @param memory bytes that its processes have of it; empty when that is not known
 */
record GpuSample(Use nodes, Use nvml, OptionalLong memory) {
    /** Whether a GPU is used. */
    enum Use {
        USED,
        IDLE,
        /** Nothing was learnt. */
        UNKNOWN
    }
}
