/** {@code jnvdocker gpu}: shows and manages the leases of GPUs. Start at {@link GpuCommand}. */
package jnvdocker.command.gpu;
