package jnvdocker.lease;

/** By what a held GPU is known to be idle. */
public enum IdleSource {
    /** No process has its device node open. */
    NODES,
    /** The driver says that its utilization is 0. */
    NVML
}
