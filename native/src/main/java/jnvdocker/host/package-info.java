/**
 * What the host has: its driver, its GPUs, their device nodes. Start at {@link HostDriver} and
 * {@link GpuInventory}.
 */
package jnvdocker.host;
