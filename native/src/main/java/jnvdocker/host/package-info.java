/**
 * The host's driver, its GPUs and their device nodes. Start at {@link HostDriver} and {@link
 * GpuInventory}.
 */
package jnvdocker.host;
