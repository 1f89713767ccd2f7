/**
 * Changes something: takes, gives back, books and cordons GPUs, and looks after the installation.
 * Start at {@link GpuRelease}.
 */
package jnvdocker.command.gpu.change;
