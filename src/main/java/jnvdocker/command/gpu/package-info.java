/** {@code jnvdocker gpu}: one call, and the command that it names. Start at {@link GpuCommand}. */
package jnvdocker.command.gpu;
