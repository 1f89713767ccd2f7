package jnvdocker.lease;

/** The evidence that a held GPU is idle. */
public enum IdleSource {
    /** No process has its device node open. */
    NODES,
    /** The driver says that its utilization is 0. */
    NVML
}
