/**
 * {@code jnvdocker gpu}: who has which GPU, and what may be done about it. Start at {@link
 * GpuCommand}.
 */
package jnvdocker.command.gpu;
