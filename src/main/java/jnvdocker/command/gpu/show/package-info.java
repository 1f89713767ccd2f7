/**
 * Shows what is: the GPUs, those who have them, use them and wait for them, images and the driver.
 * Start at {@link GpuLs}.
 */
package jnvdocker.command.gpu.show;
