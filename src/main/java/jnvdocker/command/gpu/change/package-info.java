/**
 * Begins, changes and ends leases, books and cordons GPUs, and maintains the installation. Start at
 * {@link GpuRelease}.
 */
package jnvdocker.command.gpu.change;
