/**
 * Shows the present: the GPUs, their holders, users and queue, images and the driver. Start at
 * {@link GpuLs}.
 */
package jnvdocker.command.gpu.show;
