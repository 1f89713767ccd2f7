/**
 * The snapshot of the GPUs that every command projects, and the records and words by which several
 * of them show it. Start at {@link GpuView}.
 */
package jnvdocker.command.gpu.view;
